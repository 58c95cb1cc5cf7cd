/** Gateway connection in Node, over a client with unlimited buffer. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { WebSocketClientOptions } from "../../../device/host.js";

/** Type of device/network/gateway-socket.ts without its XS types. */
interface Socket {
	readonly isDrained: boolean;
	send(text: string): void;
	close(): void;
}
const isClass = (value: unknown): value is new (options: object) => Socket => typeof value === "function";
const file: string = "../../../device/network/gateway-socket.js";
const { GatewaySocket }: { GatewaySocket?: unknown } = await import(file);

// XS global.
Reflect.defineProperty(ArrayBuffer, "fromString", {
	value: (text: string) => Uint8Array.from(Buffer.from(text)).buffer,
});

test("sends queued messages in order, and not from within the previous write callback", () => {
	const writes: string[] = [];
	let depth = 0;
	let deepest = 0;
	let open = () => {};
	class Client {
		constructor(options: WebSocketClientOptions) {
			open = () => options.onWritable(5000);
		}
		write(bytes: Uint8Array): number {
			writes.push(Buffer.from(bytes).toString());
			return 5000;
		}
		read(): ArrayBuffer {
			return new ArrayBuffer(0);
		}
		close(): void {}
	}
	class Resolver {
		resolve(): void {}
	}
	assert.ok(isClass(GatewaySocket), "GatewaySocket is no class");
	const socket = new GatewaySocket({
		part: Client,
		certificate: undefined,
		dns: Resolver,
		url: { isSecure: false, host: "gateway", port: 80, path: "/device" },
		headers: [],
		onOpen: () => {},
		onMessage: () => {},
		onDrained: () => {
			depth += 1;
			deepest = Math.max(deepest, depth);
			if (writes.length < 5) {
				socket.send(`${writes.length}a`);
				socket.send(`${writes.length}b`);
			}
			depth -= 1;
		},
		onClosed: () => assert.fail("closed"),
	});
	open();
	socket.send("first");
	assert.deepEqual(writes, ["first", "1a", "1b", "3a", "3b"]);
	assert.equal(deepest, 1);
	assert.ok(socket.isDrained, "the socket still holds data");
	socket.close();
});
