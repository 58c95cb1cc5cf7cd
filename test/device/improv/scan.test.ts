/** Scan over the serial port in Node, with a simulated radio. */

import assert from "node:assert/strict";
import { test } from "node:test";
import Timer from "timer";
import type { ScanOptions } from "../../../device/host.js";
import { command, encodeCommand, packetType } from "../../../device/improv/packets.js";
import { clock } from "../update/timer.js";

const isClass = (value: unknown): value is new (options: object) => unknown => typeof value === "function";
// A path of type string keeps tsc from checking the module, which requires the types of XS.
const file: string = "../../../device/improv/improv.js";
const { Improv }: { Improv?: unknown } = await import(file);

test("frees the radio at the end of a scan", () => {
	assert.ok(isClass(Improv), "Improv is no class");
	let open = 0;
	class Radio {
		constructor() {
			open += 1;
		}
		scan({ onComplete }: ScanOptions): void {
			Timer.set(onComplete, 2_000);
		}
		close(): void {
			open -= 1;
		}
	}
	let received = encodeCommand(packetType.command, command.networks, new Uint8Array());
	class Port {
		read(buffer: Uint8Array): number {
			const { byteLength } = received;
			buffer.set(received);
			received = new Uint8Array();
			return byteLength;
		}
		write(): void {}
	}
	new Improv({ port: Port, wifi: Radio, store: { read: () => undefined }, freeWiFi: () => {} });
	clock.pass(1_000);
	assert.equal(open, 1, "scanning");
	clock.pass(2_000);
	assert.equal(open, 0, "scanned");
});
