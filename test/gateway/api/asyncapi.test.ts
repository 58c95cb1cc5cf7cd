import assert from "node:assert/strict";
import { test } from "node:test";
import { checkCommand, commands, uplinks } from "../../../device/protocol/messages.js";
import { commandDocuments } from "../../../gateway/api/commands.js";
import { addedMessages } from "../../../gateway/extensions.js";
import { checkMonitorMessage, monitorMessages } from "../../../gateway/sockets/monitor-commands.js";
import { asyncApiDocument } from "../../../scripts/api/asyncapi.js";
import { monitorExamples, uplinkExamples } from "../../../scripts/api/examples.js";
import { runWatched } from "../../support/running.js";
import { type Json, withField } from "../../support/sample-report.js";
import { ApiDocument, checkFrame } from "./schemas.js";

const document = new ApiDocument(asyncApiDocument());
type Message = { [name: string]: Json };

function problemOf(value: unknown, schema: string): string | undefined {
	return document.problemOf(value, "components", "schemas", schema);
}

test("has an example of each message to the gateway or a device that matches its schema", () => {
	const found: string[] = [];
	for (const name of Object.keys(document.at("components", "messages"))) {
		const { examples } = document.at("components", "messages", name);
		if (!Array.isArray(examples)) continue;
		found.push(name);
		for (const { payload } of examples) assert.equal(problemOf(payload, name), undefined, name);
	}
	const known = [commands, uplinks, monitorMessages, addedMessages].flatMap((table) => Object.keys(table));
	assert.deepEqual(found.sort(), known.sort());
});

/** Yields the message, and variants with a field removed or invalid. */
function* variants(message: Message, inner: Message = message, path = ""): Generator<Message> {
	if (path === "") yield message;
	for (const [name, value] of Object.entries(inner)) {
		const where = `${path}${name}`;
		yield withField(message, where, undefined);
		for (const wrong of [null, -1, 0.5, 101, 4_294_967_296, "", "x".repeat(3000), true, {}, []])
			yield withField(message, where, wrong);
		if (typeof value === "object" && value !== null && !Array.isArray(value))
			yield* variants(message, value, `${where}.`);
	}
}

test("accepts by schema exactly what the gateway accepts from monitors", () => {
	for (const example of Object.values(monitorExamples))
		for (const message of variants(copy(example))) {
			const isAccepted = checkMonitorMessage(message).rejection === undefined && hasGoodPayload(message);
			assert.equal(problemOf(message, example.type) === undefined, isAccepted, JSON.stringify(message));
		}
});

function hasGoodPayload(message: Message): boolean {
	return message.type !== "control_device" || checkCommand(message.payload).rejection === undefined;
}

function copy(value: object): Message {
	return JSON.parse(JSON.stringify(value));
}

test("sends frames that match their schemas", async (t) => {
	const { gateway, monitor } = await runWatched(t);
	checkFrame(monitor.snapshot);
	// Includes frames that the test does not read.
	monitor.socket.on("message", (data) => checkFrame(JSON.parse(data.toString())));
	const { device, session } = await gateway.namedDevice(monitor);
	for (const message of Object.values(uplinkExamples)) device.send(message);
	for (const message of [
		...Object.values(monitorExamples),
		"no JSON",
		[],
		{ type: "explode" },
		{ type: "boot_device", targetId: "unknown" },
		{ type: "control_device", targetId: session.sessionId, payload: { command: "set_volume" } },
		{ type: "control_device", targetId: session.sessionId, payload: commandDocuments.set_haptics.example },
		{ type: "trigger_ota", targetId: session.sessionId, version: "9.9.9" },
	])
		await monitor.request(message);
	checkFrame((await gateway.monitor()).snapshot);
});
