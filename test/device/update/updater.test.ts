import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Probation } from "../../../device/update/probation.js";
import { damaged, makeImage, rewritten } from "../../gateway/firmware/images.js";
import { FlashSlot, makeFirmware, Rig } from "./rig.js";
import { MemoryServer } from "./server.js";
import { clock } from "./timer.js";

const oldFirmware = makeFirmware("1.0.0", 40_000);
const newFirmware = makeFirmware("2.0.0", 400_000);

function rigOf(url?: string): Rig {
	return new Rig({ firmware: oldFirmware, ...(url && { url }) });
}

describe("before anything is erased", () => {
	for (const [name, file, reason] of [
		[
			"a firmware for another chip is refused",
			makeImage(),
			/for another chip \(0x9\) than this device's, virtual/,
		],
		[
			"a firmware for another model is refused",
			makeFirmware("2.0.0", 9_000, "PROTO-1"),
			/for a PROTO-1; this device is a DEV-1/,
		],
		[
			"a firmware that is not ours is refused",
			rewritten(newFirmware, 0x120, [0, 0, 0, 0]),
			/does not say for which model/,
		],
		[
			"an image without ESP-IDF's descriptor is refused",
			damaged(newFirmware, 0x20, [0]),
			/does not say for which model/,
		],
		["what is no image is refused", damaged(newFirmware, 0, [0x7f]), /is no firmware image/],
		["an image of a few bytes is refused", newFirmware.subarray(0, 200), /cut off in its head/],
		[
			"a firmware that does not fit is refused",
			makeFirmware("2.0.0", 3_000_000),
			/has 3000\d{3} bytes; the device has room for 2097152/,
		],
	] as const)
		test(name, () => {
			const rig = rigOf();
			const { operations } = rig.flash;
			assert.match(rig.update(new MemoryServer({ file })) ?? "", reason);
			assert.equal(rig.flash.operations, operations, "the flash was not touched");
		});

	test("an address that is none is refused", () => {
		for (const url of ["http://host:99999/x", "http://user@host/x", "http://[::1]/x"])
			assert.match(
				rigOf(url).update(new MemoryServer({ file: newFirmware })) ?? "",
				/must be http:\/\/host:port/,
			);
	});
});

describe("progress", () => {
	test("is told at most four times a second, never backward, and once at 100 %", () => {
		const times: number[] = [];
		const rig = new Rig({
			firmware: oldFirmware,
			onMessage: ({ type }) => type === "ota_progress" && times.push(clock.now),
		});
		assert.equal(rig.update(new MemoryServer({ file: newFirmware })), undefined);
		const told = rig.messages.filter((message) => message.type === "ota_progress");
		assert.ok(told.length >= 2);
		for (const start of times)
			assert.ok(times.filter((time) => time >= start && time < start + 1000).length <= 4, times.join());
		const written = told.map(({ bytes_written }) => bytes_written);
		assert.deepEqual(
			written,
			[...written].sort((a, b) => a - b),
		);
		assert.ok(told.every(({ bytes_total }) => bytes_total === newFirmware.length));
		assert.equal(told.filter(({ percent }) => percent === 100).length, 1);
		assert.equal(written.at(-1), newFirmware.length);
		assert.deepEqual(rig.messages.at(-1), { type: "ota_complete" });
	});

	test("ends with the restart 500 ms after ota_complete", () => {
		let completedAt = 0;
		const rig = new Rig({
			firmware: oldFirmware,
			onMessage: ({ type }) => {
				if (type === "ota_complete") completedAt = clock.now;
			},
		});
		rig.update(new MemoryServer({ file: newFirmware }));
		assert.equal(clock.now - completedAt, 500);
		assert.equal(rig.restarts, 1);
		assert.equal(rig.updater?.isRunning, true, "until it has restarted no other update begins");
	});
});

test("a second update does not begin while one runs", () => {
	const rig = rigOf();
	const server = new MemoryServer({ file: newFirmware });
	const updater = rig.begin(server);
	clock.pass(20);
	updater.start({ url: "http://gateway.lan/other" });
	clock.runUntil(() => rig.restarts === 1, 100_000);
	assert.equal(server.connections, 1);
});

describe("a slot that", () => {
	const cases: readonly (readonly [string, typeof FlashSlot, RegExp])[] = [
		[
			"cannot be opened",
			class extends FlashSlot {
				override open(): void {
					throw new Error("begin failed");
				}
			},
			/^The slot for new firmware cannot be opened: begin failed$/,
		],
		[
			"cannot be written",
			class extends FlashSlot {
				override write(): void {
					throw new Error("write failed");
				}
			},
			/^The firmware cannot be written to flash: write failed$/,
		],
		[
			"does not keep what was written",
			class extends FlashSlot {
				override write(bytes: Uint8Array): void {
					super.write(bytes.map((byte, index) => (index === 1000 ? byte & 0xf0 : byte)));
				}
			},
			/^The firmware is damaged: its SHA-256 does not match its content\.$/,
		],
		[
			"cannot be read back",
			class extends FlashSlot {
				override read(): void {
					throw new Error("read failed");
				}
			},
			/^The firmware cannot be read back from flash: .*read failed$/,
		],
		[
			"is not accepted by the boot loader",
			class extends FlashSlot {
				override complete(): void {
					throw new Error("end failed");
				}
			},
			/^The device does not accept the firmware: end failed$/,
		],
	];
	for (const [name, slot, reason] of cases)
		test(`${name} ends the update with that reason, and the next one succeeds`, () => {
			const rig = rigOf();
			let closed = 0;
			rig.slot = class extends slot {
				override close(): void {
					closed += 1;
					super.close();
				}
			};
			const server = new MemoryServer({ file: newFirmware });
			assert.match(rig.update(server) ?? "", reason);
			assert.equal(rig.restarts, 0);
			assert.equal(closed, 1, "the slot was let go");
			rig.slot = FlashSlot;
			assert.equal(rig.update(server), undefined);
			rig.restart();
			assert.equal(rig.boot.image.version, "2.0.0");
		});
});

describe("new firmware on probation", () => {
	const begin = (isPendingVerify: boolean, confirms = [true]) => {
		const calls: string[] = [];
		const boot = {
			isPendingVerify,
			confirm: () => {
				calls.push("confirm");
				return confirms.shift() ?? true;
			},
			rollBack: () => void calls.push("roll back"),
		};
		const probation = new Probation({ boot, restart: () => void calls.push("restart") });
		return { calls, probation };
	};

	test("is confirmed when it passes, once", () => {
		const { calls, probation } = begin(true);
		assert.equal(probation.isOn, true);
		probation.pass();
		probation.pass();
		assert.deepEqual(calls, ["confirm"]);
		assert.equal(probation.isOn, false);
		clock.pass(200_000);
		assert.deepEqual(calls, ["confirm"]);
	});

	test("gives way to the former firmware after 120 s", () => {
		const { calls } = begin(true);
		clock.pass(119_999);
		assert.deepEqual(calls, []);
		clock.pass(2);
		assert.deepEqual(calls, ["roll back", "restart"]);
	});

	test("is tried again where flash did not take the confirmation", () => {
		const { calls, probation } = begin(true, [false, true]);
		probation.pass();
		assert.equal(probation.isOn, true);
		probation.pass();
		assert.equal(probation.isOn, false);
		assert.deepEqual(calls, ["confirm", "confirm"]);
	});

	test("is none for firmware that is confirmed", () => {
		const { calls, probation } = begin(false);
		assert.equal(probation.isOn, false);
		probation.pass();
		clock.pass(200_000);
		assert.deepEqual(calls, []);
	});
});
