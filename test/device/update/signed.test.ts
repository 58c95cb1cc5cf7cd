/** Updates of a device with release keys, and of one with a security version. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { makeVirtualImage } from "../../../hosts/virtual/node/boot/factory-flash.js";
import { damaged, rewritten, trailingData, withoutHash } from "../../support/images.js";
import { badSignatures, makeReleaseKey } from "../../support/signing.js";
import { FlashSlot, makeFirmware, Rig } from "./rig.js";
import { MemoryServer } from "./server.js";
import { clock } from "./timer.js";

const oldFirmware = makeFirmware("1.0.0", 40_000);
const newFirmware = makeFirmware("2.0.0", 100_000);
const key = makeReleaseKey();
const newKey = makeReleaseKey();

interface SignedRig {
	readonly signature: string | undefined;
	readonly releaseKeys?: string;
}

function rigOf({ signature, releaseKeys = key.text }: SignedRig): Rig {
	clock.clear();
	return new Rig({ firmware: oldFirmware, releaseKeys, signature });
}

/** Asserts which image starts next, and that no other was ever selected. */
function assertStays(rig: Rig): void {
	assert.equal(rig.restarts, 0);
	rig.restart();
	assert.equal(rig.boot.image.version, "1.0.0");
}

describe("device with a release key", () => {
	test("installs firmware signed with that key", () => {
		const rig = rigOf({ signature: key.sign(newFirmware) });
		assert.equal(rig.update(new MemoryServer({ file: newFirmware })), undefined);
		rig.restart();
		assert.equal(rig.boot.image.version, "2.0.0");
	});

	test("installs an image with trailing data: the signature covers the image alone", () => {
		for (const data of trailingData().slice(0, 4)) {
			const file = Buffer.concat([newFirmware, data]);
			const signature = key.sign(newFirmware);
			assert.equal(rigOf({ signature }).update(new MemoryServer({ file })), undefined);
			assert.match(
				rigOf({ signature: key.sign(file) }).update(new MemoryServer({ file })) ?? "",
				/signature is invalid/,
			);
		}
	});

	for (const [fault, signature] of Object.entries(badSignatures(key, newFirmware, oldFirmware)))
		test(`rejects a signature ${fault} and keeps running`, () => {
			const rig = rigOf({ signature });
			const { operations } = rig.flash;
			const reason = rig.update(new MemoryServer({ file: newFirmware })) ?? "";
			assert.match(reason, /is not signed|is malformed|signature is invalid/);
			if (!reason.includes("is invalid"))
				assert.equal(rig.flash.operations, operations, "flash is unchanged");
			assertStays(rig);
		});

	test("rejects an image with a changed byte and matching checksum and SHA-256", () => {
		const signature = key.sign(newFirmware);
		for (const at of [0x130, 0x15c, 0x200, newFirmware.length - 100]) {
			const file = rewritten(newFirmware, at, [(newFirmware[at] ?? 0) ^ 1]);
			const rig = rigOf({ signature });
			assert.match(rig.update(new MemoryServer({ file })) ?? "", /signature is invalid/, `at ${at}`);
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
			assert.match(rigOf({ signature: key.sign(signed) }).update(new MemoryServer({ file })) ?? "", reason);
	});

	test("rejects an image without a SHA-256 before erasing anything, since flash could differ from what was signed", () => {
		const file = withoutHash(newFirmware);
		const rig = rigOf({ signature: key.sign(file) });
		const { operations } = rig.flash;
		assert.match(rig.update(new MemoryServer({ file })) ?? "", /has no appended SHA-256/);
		assert.equal(rig.flash.operations, operations, "flash is unchanged");
	});

	test("verifies the bytes in flash too", () => {
		const rig = rigOf({ signature: key.sign(newFirmware) });
		let written = 0;
		rig.slot = class extends FlashSlot {
			/** Swaps two bytes, which preserves ESP-IDF's checksum. */
			override write(bytes: Uint8Array): void {
				const changed = Uint8Array.from(bytes);
				if (written === 0) [changed[0x400], changed[0x401]] = [bytes[0x401] ?? 0, bytes[0x400] ?? 0];
				written += bytes.length;
				super.write(changed);
			}
		};
		assert.match(
			rig.update(new MemoryServer({ file: newFirmware })) ?? "",
			/^The device rejected the firmware: wrong SHA-256/,
		);
		assertStays(rig);
	});

	test("selects the slot only after verifying the signature", () => {
		const steps: string[] = [];
		for (const signature of [key.sign(newFirmware), newKey.sign(newFirmware)]) {
			const rig = rigOf({ signature });
			rig.slot = class extends FlashSlot {
				override write(bytes: Uint8Array): void {
					if (steps.at(-1) !== "write") steps.push("write");
					super.write(bytes);
				}
				override select(): void {
					steps.push("select");
					super.select();
				}
				override close(): void {
					steps.push("close");
					super.close();
				}
			};
			rig.update(new MemoryServer({ file: newFirmware }));
		}
		assert.deepEqual(steps, ["write", "select", "write", "close"]);
	});

	test("verifies a signature in many turns, between which others run", () => {
		const rig = rigOf({ signature: newKey.sign(newFirmware), releaseKeys: `${key.text},${newKey.text}` });
		let writtenAt = 0;
		let selectedAt = 0;
		rig.slot = class extends FlashSlot {
			override write(bytes: Uint8Array): void {
				super.write(bytes);
				writtenAt = clock.turns;
			}
			override complete(onEnd: (problem: string | undefined) => void): void {
				super.complete(onEnd);
				selectedAt = clock.turns;
			}
		};
		assert.equal(rig.update(new MemoryServer({ file: newFirmware })), undefined);
		// 1/16 of a verification each, for two keys.
		assert.equal(selectedAt - writtenAt, 32);
	});

	test("does not reuse the signature of an earlier update", () => {
		const rig = rigOf({ signature: key.sign(newFirmware) });
		rig.slot = class extends FlashSlot {
			override select(): void {
				throw new Error("not yet");
			}
		};
		assert.match(rig.update(new MemoryServer({ file: newFirmware })) ?? "", /not yet/);
		const sentBefore = rig.messages.length;
		rig.updater?.start({ url: "http://gateway.lan:8080/firmware.bin" });
		clock.pass(60_000);
		assert.match(JSON.stringify(rig.messages.slice(sentBefore)), /is not signed/);
		assert.equal(rig.restarts, 0);
	});
});

test("a device with two release keys accepts signatures of either", () => {
	for (const signature of [key.sign(newFirmware), newKey.sign(newFirmware)]) {
		const rig = rigOf({ signature, releaseKeys: `${key.text},${newKey.text}` });
		assert.equal(rig.update(new MemoryServer({ file: newFirmware })), undefined);
	}
});

test("a device without release keys accepts any firmware with any signature", () => {
	for (const signature of [undefined, key.sign(oldFirmware)]) {
		const rig = rigOf({ signature, releaseKeys: "" });
		assert.equal(rig.update(new MemoryServer({ file: newFirmware })), undefined);
	}
});

test("rejects a lower security version than the running one before erasing anything", () => {
	const program = Buffer.alloc(20_000, "program");
	for (const [offered, isTaken] of [
		[0, false],
		[2, false],
		[3, true],
		[65_535, true],
	] as const) {
		clock.clear();
		const rig = new Rig({ firmware: oldFirmware, securityVersion: 3 });
		const { operations } = rig.flash;
		const file = makeVirtualImage(program, "DEV-1", "2.0.0", 0, { securityVersion: offered });
		const reason = rig.update(new MemoryServer({ file }));
		if (isTaken) {
			assert.equal(reason, undefined);
			rig.restart();
			assert.equal(rig.boot.image.securityVersion, offered);
		} else {
			assert.match(
				reason ?? "",
				new RegExp(`security version ${offered}; this device runs 3 and accepts none below`),
			);
			assert.equal(rig.flash.operations, operations, "flash is unchanged");
			assertStays(rig);
		}
	}
});
