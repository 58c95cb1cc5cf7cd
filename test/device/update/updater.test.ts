import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ImageCheck } from "../../../device/update/image-check.js";
import { slots } from "../../../hosts/virtual/node/boot/partitions.js";
import { damaged, makeImage, rewritten, trailingData, withoutHash } from "../../support/images.js";
import { makeReleaseKey } from "../../support/signing.js";
import { makeFirmware, Rig, type RigOptions, runUpdate, verificationMs } from "./rig.js";
import { MemoryServer } from "./server.js";
import Timer, { clock } from "./timer.js";

const oldFirmware = makeFirmware("1.0.0", 40_000);
const newFirmware = makeFirmware("2.0.0", 400_000);
const key = makeReleaseKey();
const signed = { releaseKeys: key.text, signature: key.sign(newFirmware) };

function update(file: Buffer, options: Partial<RigOptions> = {}, prepare?: (rig: Rig) => void) {
	return runUpdate({ file }, { firmware: oldFirmware, ...options }, prepare);
}

describe("rejects before erasing anything:", () => {
	for (const [name, file, reason] of [
		["a firmware for another chip", makeImage(), /for another chip \(0x9\) than this device's, virtual/],
		["a firmware for another model", makeFirmware("2.0.0", 9_000, "PROTO-1"), /for a PROTO-1; .+ is a DEV-1/],
		["a firmware of another project", rewritten(newFirmware, 0x120, [0, 0, 0, 0]), /has no descriptor with/],
		["an image without a descriptor", damaged(newFirmware, 0x20, [0]), /has no descriptor with its model/],
		["a file that is no image", damaged(newFirmware, 0, [0x7f]), /is not a firmware image/],
		["an image of a few bytes", newFirmware.subarray(0, 200), /truncated in its header/],
		[
			"an image that is shorter than its segments",
			newFirmware.subarray(0, 300_000),
			/^The image is truncated: the file has 300000 bytes, its segments need 400\d{3}\.$/,
		],
		["an image without its last bytes", newFirmware.subarray(0, -32), /^The image is truncated/],
		["one without a SHA-256", withoutHash(newFirmware).subarray(0, -1), /^The image is truncated/],
		[
			"an image with a segment of 2 GiB",
			damaged(newFirmware, 0x164, [0, 0, 0, 0x80]),
			/^Segment 2 of the image has an invalid length, 2147483648 bytes\.$/,
		],
		["an image with 17 segments", damaged(newFirmware, 1, [17]), /has 17 segments/],
		[
			"too much trailing data",
			Buffer.concat([newFirmware, Buffer.alloc(2e6)]),
			/has 2400\d{3} bytes; the slot/,
		],
		["too large a firmware", makeFirmware("2.0.0", 3e6), /has 3000\d{3} bytes; the slot holds 2097152/],
	] as const)
		test(name, () => {
			let before = 0;
			const outcome = update(file, {}, ({ flash }) => {
				before = flash.operations;
			});
			assert.match(outcome.reason ?? "", reason);
			assert.equal(outcome.rig.flash.operations, before, "flash is unchanged");
		});

	test("a firmware for QEMU on a board, and one for boards in QEMU", () => {
		const chips = ["esp32s3", "esp32s3-qemu"] as const;
		for (const own of chips)
			for (const chip of chips) {
				const image = makeImage({ chip });
				const check = () =>
					new ImageCheck({ chip: own, model: "DEV-1", securityVersion: 0 }).write(image, image.length);
				if (chip === own) check();
				else assert.throws(check, new RegExp(`another chip \\(${chip}\\) than this device's, ${own}\\.`));
			}
	});

	test("an invalid address", () => {
		for (const url of ["http://host:99999/x", "http://user@host/x", "http://[::1]/x"])
			assert.match(update(newFirmware, { url }).reason ?? "", /must be http:\/\/host:port/);
	});
});

describe("image with trailing data", () => {
	/** Spans several blocks, as its SHA-256 does for one of the lengths of the trailing data. */
	const small = makeFirmware("2.0.0", 33_000);

	for (const [name, image] of [
		["", small],
		[" without a SHA-256", withoutHash(small)],
	] as const)
		test(`is installed${name}, including that data`, () => {
			for (const data of trailingData())
				for (const hasDigests of [true, false]) {
					const file = Buffer.concat([image, data]);
					const { rig, reason } = runUpdate({ file, hasDigests }, { firmware: oldFirmware });
					assert.equal(reason, undefined, `${data.length} bytes`);
					assert.deepEqual(rig.flash.read(slots[1].offset, file.length), file);
					rig.restart();
					assert.equal(rig.boot.image.version, "2.0.0");
					assert.deepEqual(rig.boot.image.bytes, image);
				}
		});

	test("is rejected if it arrives damaged from a server without digests", () => {
		const file = Buffer.concat([damaged(newFirmware, 200_000, [1, 2, 3, 4]), newFirmware.subarray(-32)]);
		for (const image of [file, file.subarray(0, newFirmware.length)]) {
			const { reason } = runUpdate({ file: image, hasDigests: false }, { firmware: oldFirmware });
			assert.match(reason ?? "", /^The device rejected the firmware: The image is damaged/);
		}
	});
});

describe("progress", () => {
	test("is reported at most four times a second, never backward, and once at 100 %", () => {
		const times: number[] = [];
		const { rig, reason } = runUpdate(
			{ file: newFirmware, segmentMs: 10 },
			{
				firmware: oldFirmware,
				onMessage: ({ type }) => type === "ota_progress" && times.push(clock.now),
			},
		);
		assert.equal(reason, undefined);
		const progress = rig.messages.filter((message) => message.type === "ota_progress");
		assert.ok(progress.length >= 2, `${progress.length} progress messages`);
		for (const start of times)
			assert.ok(times.filter((time) => time >= start && time < start + 1000).length <= 4, times.join());
		const written = progress.map(({ bytes_written }) => bytes_written);
		const sorted = [...written].sort((a, b) => a - b);
		assert.deepEqual(written, sorted);
		assert.deepEqual([...new Set(progress.map(({ bytes_total }) => bytes_total))], [newFirmware.length]);
		assert.equal(progress.filter(({ percent }) => percent === 100).length, 1);
		assert.equal(written.at(-1), newFirmware.length);
		assert.deepEqual(rig.messages.at(-1), { type: "ota_complete" });
	});

	test("ends when ESP-IDF has verified the image, and other turns run until then", () => {
		let begun = 0;
		let reports = 0;
		const { reason } = update(newFirmware, {}, ({ before, messages }) => {
			before.complete = () => {
				begun = clock.now;
				Timer.repeat(() => {
					if (messages.at(-1)?.type === "ota_progress") reports += 1;
				}, 1_000);
			};
		});
		assert.equal(reason, undefined);
		assert.equal(clock.now - begun, verificationMs + 500);
		assert.equal(reports, verificationMs / 1_000);
	});

	test("ends with the restart 500 ms after ota_complete", () => {
		let completedAt = 0;
		const { rig } = update(newFirmware, {
			onMessage: ({ type }) => {
				if (type === "ota_complete") completedAt = clock.now;
			},
		});
		assert.equal(clock.now - completedAt, 500);
		assert.equal(rig.restarts, 1);
		assert.equal(rig.updater?.isRunning, true, "no other update starts before the restart");
	});
});

test("logs how long each step took", () => {
	const server = { file: newFirmware, delayMs: 1_000 };
	const { rig } = runUpdate(server, { firmware: oldFirmware }, ({ before }) => {
		before.write = () => clock.spend(100);
		before.select = () => clock.spend(700);
	});
	const pieces = Math.ceil(newFirmware.length / 4096);
	const [, download, flash, verification] =
		/ bytes in [\d.]+ s: download (.+) s, erasing and writing flash (.+) s, verification (.+) s\n$/
			.exec(rig.log.join(""))
			?.map(Number) ?? [];
	assert.ok(download !== undefined && download > 0, "blocks overlap with flash");
	assert.equal(flash, Number((pieces / 10).toFixed(1)));
	assert.equal(verification, (verificationMs + 700) / 1000);
});

test("rejects a second update while one runs", () => {
	const rig = new Rig({ firmware: oldFirmware });
	const server = new MemoryServer({ file: newFirmware });
	const updater = rig.begin(server);
	clock.pass(20);
	updater.start({ url: "http://gateway.lan/other" });
	clock.runUntil(() => rig.restarts === 1, 100_000);
	assert.equal(server.connections, 1);
});

describe("stop", () => {
	/** Runs an update until a step, then stops it. @returns result of stop() */
	function stopAt(isReached: (rig: Rig) => boolean, rig = new Rig({ firmware: oldFirmware, ...signed })) {
		clock.clear();
		const updater = rig.begin(new MemoryServer({ file: newFirmware }));
		clock.runUntil(() => isReached(rig), 100_000);
		const isStopped = updater.stop("The update was canceled.");
		clock.runUntil(() => !updater.isRunning || rig.restarts > 0, 100_000);
		return { rig, isStopped };
	}

	function isVerifying({ messages }: Rig): boolean {
		return messages.some((message) => message.type === "ota_progress" && message.percent === 100);
	}

	for (const [step, isReached] of [
		["before the connection", () => true],
		["while flash is written", ({ messages }) => messages.length > 0],
		["while the signature is verified", isVerifying],
	] as const satisfies readonly (readonly [string, (rig: Rig) => boolean])[])
		test(`${step} ends the update with that reason, and the next one succeeds`, () => {
			const { rig, isStopped } = stopAt(isReached);
			assert.equal(isStopped, true);
			assert.deepEqual(rig.messages.at(-1), { type: "ota_error", reason: "The update was canceled." });
			assert.equal(clock.pending, 0, "pending timers");
			assert.equal(rig.update(new MemoryServer({ file: newFirmware })), undefined);
			rig.restart();
			assert.equal(rig.boot.image.version, "2.0.0");
		});

	test("has no effect from the selection of the image on", () => {
		let isActivating = false;
		const rig = new Rig({ firmware: oldFirmware });
		rig.before.complete = () => {
			isActivating = true;
		};
		for (const isReached of [() => isActivating, () => rig.messages.at(-1)?.type === "ota_complete"]) {
			assert.equal(stopAt(isReached, rig).isStopped, false);
			assert.deepEqual(rig.messages.at(-1), { type: "ota_complete" });
			rig.restarts = 0;
			rig.messages.length = 0;
		}
	});
});

describe("slot that", () => {
	const fail = (message: string) => () => {
		throw new Error(message);
	};
	const wrong = (bytes: Uint8Array) => bytes.map((byte, index) => (index === 1000 ? byte & 0xf0 : byte));
	for (const [name, fault, reason] of [
		["cannot be opened", { open: fail("begin failed") }, /^The update slot cannot be opened: begin failed$/],
		["cannot be written", { write: fail("no room") }, /^The firmware cannot be written to flash: no room$/],
		[
			"does not keep what was written",
			{ store: wrong },
			/^The device rejected the firmware: The image is dam/,
		],
		["is not selected", { select: fail("end failed") }, /^The device rejected the firmware: end failed$/],
	] as const)
		test(`${name} ends the update with that reason, and the next one succeeds`, () => {
			let closed = 0;
			const close = () => {
				closed += 1;
			};
			const { rig, reason: actual } = update(newFirmware, {}, (made) => {
				made.before = { ...fault, close };
			});
			assert.match(actual ?? "", reason);
			assert.deepEqual([rig.restarts, closed], [0, 1], "the slot was closed");
			rig.before = {};
			assert.equal(rig.update(new MemoryServer({ file: newFirmware })), undefined);
			rig.restart();
			assert.equal(rig.boot.image.version, "2.0.0");
		});
});
