/** Updates of a device with release keys, and of one with a security version. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { makeVirtualImage } from "../../../hosts/virtual/node/boot/factory-flash.js";
import { damaged, rewritten, trailingData, withoutHash } from "../../support/images.js";
import { badSignatures, makeReleaseKey } from "../../support/signing.js";
import { makeFirmware, type Rig, type RigOptions, runUpdate } from "./rig.js";
import { clock } from "./timer.js";

const oldFirmware = makeFirmware("1.0.0", 40_000);
const newFirmware = makeFirmware("2.0.0", 100_000);
const key = makeReleaseKey();
const newKey = makeReleaseKey();

/** Updates a device, which has a release key by default. @returns also whether flash is unchanged */
function update(file: Buffer, options: Partial<RigOptions>, prepare = (_rig: Rig) => {}) {
	let before = 0;
	const { rig, reason = "" } = runUpdate(
		{ file },
		{ firmware: oldFirmware, releaseKeys: key.text, ...options },
		(made) => {
			before = made.flash.operations;
			prepare(made);
		},
	);
	return { rig, reason, isUnchanged: rig.flash.operations === before };
}

/** Asserts which image starts next, and that no other was ever selected. */
function assertStays(rig: Rig): void {
	assert.equal(rig.restarts, 0);
	rig.restart();
	assert.equal(rig.boot.image.version, "1.0.0");
}

describe("device with a release key", () => {
	test("installs an image with trailing data: the signature covers the image alone", () => {
		for (const data of trailingData().slice(0, 4)) {
			const file = Buffer.concat([newFirmware, data]);
			assert.equal(update(file, { signature: key.sign(newFirmware) }).reason, "");
			assert.match(update(file, { signature: key.sign(file) }).reason, /signature is invalid/);
		}
	});

	for (const [fault, signature] of Object.entries(badSignatures(key, newFirmware, oldFirmware)))
		test(`rejects a signature ${fault} and keeps running`, () => {
			const { rig, reason, isUnchanged } = update(newFirmware, { signature });
			assert.match(reason, /is not signed|is malformed|signature is invalid/);
			assert.ok(isUnchanged || reason.includes("is invalid"), "flash was changed");
			assertStays(rig);
		});

	test("rejects an image with a changed byte and matching checksum and SHA-256", () => {
		const signature = key.sign(newFirmware);
		for (const at of [0x130, 0x15c, 0x200, newFirmware.length - 100]) {
			const file = rewritten(newFirmware, at, [(newFirmware[at] ?? 0) ^ 1]);
			const { rig, reason } = update(file, { signature });
			assert.match(reason, /signature is invalid/, `at ${at}`);
			assertStays(rig);
		}
	});

	test("rejects an image whose appended SHA-256 was changed", () => {
		const last = newFirmware.length - 1;
		const file = damaged(newFirmware, last, [(newFirmware[last] ?? 0) ^ 1]);
		for (const [signed, reason] of [
			[newFirmware, /signature is invalid/],
			[file, /^The device rejected the firmware: wrong SHA-256/],
		] as const)
			assert.match(update(file, { signature: key.sign(signed) }).reason, reason);
	});

	test("rejects an image without a SHA-256 before erasing anything, since flash could differ from what was signed", () => {
		const file = withoutHash(newFirmware);
		const { reason, isUnchanged } = update(file, { signature: key.sign(file) });
		assert.match(reason, /has no appended SHA-256/);
		assert.ok(isUnchanged, "flash was changed");
	});

	test("verifies the bytes in flash too", () => {
		let written = 0;
		const { rig, reason } = update(newFirmware, { signature: key.sign(newFirmware) }, ({ before }) => {
			/** Swaps two bytes, which preserves ESP-IDF's checksum. */
			before.store = (bytes) => {
				const changed = Uint8Array.from(bytes);
				if (written === 0) [changed[0x400], changed[0x401]] = [bytes[0x401] ?? 0, bytes[0x400] ?? 0];
				written += bytes.length;
				return changed;
			};
		});
		assert.match(reason, /^The device rejected the firmware: wrong SHA-256/);
		assertStays(rig);
	});

	test("selects the slot only after verifying the signature", () => {
		const steps: string[] = [];
		const note = (step: string) => () => {
			if (steps.at(-1) !== step) steps.push(step);
		};
		for (const signature of [key.sign(newFirmware), newKey.sign(newFirmware)])
			update(newFirmware, { signature }, (rig) => {
				rig.before = { write: note("write"), select: note("select"), close: note("close") };
			});
		assert.deepEqual(steps, ["write", "select", "write", "close"]);
	});

	test("verifies a signature in many turns, between which others run", () => {
		let writtenAt = 0;
		let selectedAt = 0;
		const signature = newKey.sign(newFirmware);
		const { reason } = update(
			newFirmware,
			{ signature, releaseKeys: `${key.text},${newKey.text}` },
			(rig) => {
				rig.before.write = () => {
					writtenAt = clock.turns;
				};
				rig.before.complete = () => {
					selectedAt = clock.turns;
				};
			},
		);
		assert.equal(reason, "");
		// 1/16 of a verification each, for two keys.
		assert.equal(selectedAt - writtenAt, 32);
	});

	test("does not reuse the signature of an earlier update", () => {
		const { rig, reason } = update(newFirmware, { signature: key.sign(newFirmware) }, ({ before }) => {
			before.select = () => {
				throw new Error("not yet");
			};
		});
		assert.match(reason, /not yet/);
		const sentBefore = rig.messages.length;
		rig.updater?.start({ url: "http://gateway.lan:8080/firmware.bin" });
		clock.pass(60_000);
		assert.match(JSON.stringify(rig.messages.slice(sentBefore)), /is not signed/);
		assert.equal(rig.restarts, 0);
	});
});

for (const [name, releaseKeys, signatures] of [
	["two release keys accepts signatures of either", `${key.text},${newKey.text}`, [key, newKey]],
	["no release keys accepts any firmware with any signature", "", [undefined, newKey]],
] as const)
	test(`a device with ${name}`, () => {
		for (const by of signatures)
			assert.equal(update(newFirmware, { releaseKeys, signature: by?.sign(newFirmware) }).reason, "");
	});

test("rejects a lower security version than the running one before erasing anything", () => {
	const program = Buffer.alloc(20_000, "program");
	for (const [offered, isTaken] of [
		[0, false],
		[2, false],
		[3, true],
		[65_535, true],
	] as const) {
		const file = makeVirtualImage(program, "DEV-1", "2.0.0", 0, { securityVersion: offered });
		const { rig, reason, isUnchanged } = update(file, { releaseKeys: "", securityVersion: 3 });
		const rejection = `security version ${offered}; this device runs 3 and accepts none below`;
		assert.equal(reason.includes(rejection), !isTaken, reason);
		assert.equal(isUnchanged, !isTaken);
		if (!isTaken) {
			assertStays(rig);
			continue;
		}
		rig.restart();
		assert.equal(rig.boot.image.securityVersion, offered);
	}
});
