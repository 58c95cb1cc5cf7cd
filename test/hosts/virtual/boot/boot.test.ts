import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { boot } from "../../../../hosts/virtual/node/boot/boot-loader.js";
import {
	flashFactoryImage,
	flashSettings,
	makeVirtualImage,
} from "../../../../hosts/virtual/node/boot/factory-flash.js";
import { Flash, PowerCut, sectorBytes } from "../../../../hosts/virtual/node/boot/flash.js";
import { NvsStore, readSettings } from "../../../../hosts/virtual/node/boot/nvs-store.js";
import { Ota } from "../../../../hosts/virtual/node/boot/ota.js";
import { flashBytes, slots } from "../../../../hosts/virtual/node/boot/partitions.js";
import { readSelection } from "../../../../hosts/virtual/node/boot/selection.js";
import { updateSlot } from "../../../../hosts/virtual/node/simulated/update.js";
import { makeImage, trailingData, withoutHash } from "../../../support/images.js";

const image = (version: string, program = `program of ${version}`) =>
	makeVirtualImage(Buffer.from(program), "DEV-1", version);

function flashWith(version = "1.0.0"): Flash {
	const flash = new Flash({ byteLength: flashBytes });
	flashFactoryImage(flash, image(version));
	return flash;
}

function update(flash: Flash, version: string): void {
	install(flash, image(version));
}

/** Starts, writes and selects an image as an update does. */
function install(flash: Flash, file: Buffer): void {
	const ota = new Ota({ flash, running: boot(flash).slot });
	if (ota.isPendingVerify) ota.confirm();
	ota.begin();
	ota.write(file);
	ota.end();
	ota.selectNext();
}

/** Update slot as the firmware sees it. */
function openSlot(flash: Flash, onPowerCut = () => {}) {
	const ends: unknown[] = [];
	const slot = updateSlot(
		{ send: (_event: string, problem?: unknown) => void ends.push(problem) },
		{ ota: new Ota({ flash, running: boot(flash).slot }), onPowerCut },
	);
	slot.open();
	const write = (bytes: Buffer) => slot.write(undefined, bytes);
	/** @returns the result for the firmware: why the image is not selected, or null; none after a power cut */
	const complete = () => {
		slot.complete();
		return ends.splice(0);
	};
	return { ...slot, write, complete };
}

describe("simulated flash", () => {
	test("is blank at first, and keeps what is written", () => {
		const flash = new Flash({ byteLength: sectorBytes * 2 });
		flash.write(sectorBytes - 1, Uint8Array.of(1, 2));
		assert.deepEqual([...flash.read(sectorBytes - 2, 4)], [0xff, 1, 2, 0xff]);
	});

	test("writes each sector in one operation, and rejects writes beyond its end", () => {
		const operations: number[] = [];
		const flash = new Flash({
			byteLength: sectorBytes * 4,
			onOperation: (offset) => operations.push(offset),
		});
		flash.write(sectorBytes + 200, new Uint8Array(sectorBytes + 100));
		assert.deepEqual(operations, [sectorBytes + 200, 2 * sectorBytes]);
		assert.equal(flash.operations, 2);
		assert.throws(() => flash.write(4 * sectorBytes - 1, new Uint8Array(2)), RangeError);
	});

	for (const [moment, expected] of [
		["before", [1, 1, 1, 1]],
		["middle", [0, 0, 1, 1]],
		["after", [0, 0, 0, 0]],
	] as const)
		test(`loses power ${moment} a write`, () => {
			const flash = new Flash({ byteLength: sectorBytes });
			flash.cutAt(1, moment);
			assert.throws(() => flash.write(0, Uint8Array.of(0, 0, 0, 0)), PowerCut);
			assert.throws(() => flash.read(0, 1), PowerCut);
			assert.throws(() => flash.write(0, Uint8Array.of(0)), PowerCut);
			flash.powerOn();
			const bits = [...flash.read(0, 4)].map((byte) => byte & 1);
			assert.deepEqual(bits, expected);
		});

	test("is the same after its file was reopened", (t) => {
		const folder = mkdtempSync(join(tmpdir(), "flash-"));
		t.after(() => rmSync(folder, { recursive: true }));
		const file = join(folder, "flash.bin");
		const first = new Flash({ byteLength: flashBytes, file });
		flashFactoryImage(first, image("1.0.0"));
		update(first, "1.1.0");
		first.close();
		const second = new Flash({ byteLength: flashBytes, file });
		assert.equal(boot(second).image.version, "1.1.0");
		assert.deepEqual([...second.read(flashBytes - 1, 1)], [0xff]);
		second.close();
	});
});

describe("boot loader", () => {
	test("starts slot 0 of a factory flash, which needs no confirmation", () => {
		const flash = flashWith();
		const { slot, image: started } = boot(flash);
		assert.deepEqual({ slot, version: started.version }, { slot: 0, version: "1.0.0" });
		assert.equal(new Ota({ flash, running: slot }).isPendingVerify, false);
	});

	test("starts a new image once; unless it is confirmed, the previous one starts from then on", () => {
		const flash = flashWith();
		update(flash, "1.1.0");
		const versions = Array.from({ length: 3 }, () => boot(flash).image.version);
		assert.deepEqual(versions, ["1.1.0", "1.0.0", "1.0.0"]);
	});

	test("keeps starting a confirmed image", () => {
		const flash = flashWith();
		update(flash, "1.1.0");
		new Ota({ flash, running: boot(flash).slot }).confirm();
		for (let restart = 0; restart < 3; restart++) assert.equal(boot(flash).image.version, "1.1.0");
	});

	test("starts the previous image after a rollback", () => {
		const flash = flashWith();
		update(flash, "1.1.0");
		assert.equal(new Ota({ flash, running: boot(flash).slot }).rollBack(), true);
		assert.equal(boot(flash).image.version, "1.0.0");
	});

	test("has no image to roll back to on a new device", () => {
		const flash = flashWith();
		assert.equal(new Ota({ flash, running: boot(flash).slot }).rollBack(), false);
	});

	test("verifies the whole image, and starts the other one if a single bit is wrong", () => {
		const { length } = image("1.1.0");
		for (let at = 0; at < length; at += 7) {
			const flash = flashWith();
			update(flash, "1.1.0");
			const byte = flash.read(slots[1].offset + at, 1).readUInt8();
			flash.write(slots[1].offset + at, Uint8Array.of(byte ^ 1));
			const { slot, image: started } = boot(flash);
			assert.equal(started.version, "1.0.0", `byte ${at}`);
			new Ota({ flash, running: slot }).begin();
			assert.equal(readSelection(flash).slot, slot, "an update writes to the other slot");
		}
	});

	test("finds the end of the image by its segments, with any trailing data in the slot", () => {
		const content = image("1.1.0");
		for (const bytes of [content, withoutHash(content)])
			for (const data of trailingData()) {
				const flash = flashWith();
				install(flash, Buffer.concat([bytes, data]));
				const { image: started } = boot(flash);
				assert.equal(started.version, "1.1.0");
				assert.deepEqual(started.bytes, bytes, `${data.length} bytes follow`);
				assert.equal(started.program.toString().trimEnd(), "program of 1.1.0");
			}
	});

	test("rejects a segment that exceeds the slot or has an invalid length, and an image without a program", () => {
		const tooLong = image("1.0.0");
		tooLong.writeUInt32LE(slots[0].byteLength, 0x164);
		const uneven = image("1.0.0");
		uneven.writeUInt32LE(13, 0x164);
		const empty = makeImage({ chip: "virtual", segments: [] });
		for (const [bytes, reason] of [
			[tooLong, /slot 0: image longer than its slot/],
			[uneven, /slot 0: Segment 2 of the image has an invalid length, 13 bytes/],
			[empty, /slot 0: image without a program/],
		] as const) {
			const flash = new Flash({ byteLength: flashBytes });
			flash.load(slots[0].offset, bytes);
			assert.throws(() => boot(flash), reason);
		}
	});

	test("throws if no image can be started", () => {
		assert.throws(() => boot(new Flash({ byteLength: flashBytes })), /no bootable image: slot 0: no image/);
	});
});

describe("update functions", () => {
	test("do not start while the running image is unconfirmed", () => {
		const flash = flashWith();
		update(flash, "1.1.0");
		const ota = new Ota({ flash, running: boot(flash).slot });
		assert.throws(() => ota.begin(), /ESP_ERR_OTA_ROLLBACK_INVALID_STATE/);
		ota.confirm();
		ota.begin();
	});

	test("reject data that does not start like an image, does not fit, or is incomplete", () => {
		const flash = flashWith();
		const ota = new Ota({ flash, running: boot(flash).slot });
		ota.begin();
		assert.throws(() => ota.write(Buffer.from("<html>")), /ESP_ERR_OTA_VALIDATE_FAILED/);
		assert.throws(() => ota.write(Buffer.alloc(slots[1].byteLength + 1, 0xe9)), /ESP_ERR_INVALID_SIZE/);
		ota.begin();
		ota.write(image("1.1.0").subarray(0, 300));
		assert.throws(() => ota.selectNext(), /length|segment|checksum|no image/);
		assert.equal(boot(flash).slot, 0);
	});
});

test("writing the factory flash again skips an unchanged image", () => {
	const flash = flashWith();
	update(flash, "1.1.0");
	new Ota({ flash, running: boot(flash).slot }).confirm();
	flashFactoryImage(flash, image("1.0.0"));
	assert.equal(boot(flash).image.version, "1.1.0", "the update persists after the process");
	flashFactoryImage(flash, image("1.0.0", "another line of code"));
	assert.equal(boot(flash).image.version, "1.0.0");
});

describe("factory settings", () => {
	const factory = { ssid: "network", token: "secret" };
	const settingsOf = (flash: Flash) => Object.fromEntries([...readSettings(flash)].sort());

	test("replace only those that differ; an empty one is removed", () => {
		const flash = flashWith();
		flashSettings(flash, { ...factory, password: "old", volume: "7" });
		flashSettings(flash, { token: "other", password: "", gateway: "ws://127.0.0.1:1/device" });
		assert.deepEqual(settingsOf(flash), {
			gateway: "ws://127.0.0.1:1/device",
			ssid: "network",
			token: "other",
			volume: "7",
		});
	});

	test("are not written again if unchanged", () => {
		const flash = flashWith();
		const withGateway = { ...factory, gateway: "ws://127.0.0.1:1/device" };
		flashSettings(flash, withGateway);
		new NvsStore({ flash }).write("token", "set by the gateway");
		flashSettings(flash, withGateway);
		assert.equal(settingsOf(flash).token, "set by the gateway");
	});
});

describe("update slot with asynchronous writes", () => {
	test("reports a failed write at the next request, once", () => {
		const slot = openSlot(flashWith());
		slot.write(Buffer.from("no image"));
		slot.write(image("2.0.0"));
		assert.deepEqual(slot.complete(), ["ESP_ERR_OTA_VALIDATE_FAILED"]);
		assert.equal(slot.byteLength(), slots[1].byteLength);
	});

	test("selects only a complete image", () => {
		const flash = flashWith();
		const slot = openSlot(flash);
		slot.write(image("2.0.0").subarray(0, -1));
		assert.match(String(slot.complete()), /SHA-256/);
		assert.equal(boot(flash).image.version, "1.0.0");
		slot.open();
		slot.write(image("2.0.0"));
		assert.deepEqual(slot.complete(), [null]);
		assert.equal(boot(flash).image.version, "2.0.0");
	});
});
