import assert from "node:assert/strict";
import { test } from "node:test";
import * as ws from "ws";
import { createFragmentListsLazily } from "../../gateway/heap.js";
import { onEnd } from "../support/cleanup.js";
import { nextEvent } from "../support/eventually.js";
import { portOf } from "../support/ports.js";

const { WebSocket, WebSocketServer } = ws;

test("allocates no fragment list in ws before a message, and joins fragments", async (t) => {
	createFragmentListsLazily();
	const receiver: unknown = Reflect.construct(Reflect.get(ws, "Receiver"), []);
	assert.ok(typeof receiver === "object" && receiver !== null, "ws has no Receiver");
	assert.equal(Object.hasOwn(receiver, "_fragments"), false);
	// Fails if ws no longer has this field.
	assert.deepEqual(
		Object.getOwnPropertySymbols(receiver)
			.filter(({ description }) => description === "fragments")
			.map((symbol) => Reflect.get(receiver, symbol)),
		[undefined],
	);

	const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
	onEnd(t, () => server.close());
	await nextEvent(server, "listening");
	const client = new WebSocket(`ws://127.0.0.1:${portOf(server)}`);
	onEnd(t, () => client.terminate());
	const [socket] = await nextEvent(server, "connection");
	const received: string[] = [];
	const all = new Promise<void>((resolve) => {
		socket.on("message", (data: Buffer) => received.push(data.toString()) === 4 && resolve());
	});
	await nextEvent(client, "open");
	client.send("whole");
	for (const [index, part] of ["in ", "three ", "parts"].entries()) client.send(part, { fin: index === 2 });
	client.send("");
	client.send("whole again");
	await all;
	assert.deepEqual(received, ["whole", "in three parts", "", "whole again"]);
});
