/**
 * Image layout compared with ESP-IDF's documents. The numbers are repeated, because encoder and checks share one
 * table.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { chips } from "../../../device/protocol/messages.js";
import { encodeImage } from "../../../hosts/virtual/node/boot/encode-image.js";

const chipIds = { esp32: 0x0000, esp32s3: 0x0009, "esp32s3-qemu": 0x0009, virtual: 0xfff0 };

for (const chip of chips)
	test(`the layout of an image for ${chip} is the one that ESP-IDF's boot loader and the firmware expect`, () => {
		const bytes = Buffer.alloc(0x180);
		const text = (offset: number, value: string) => bytes.write(value, offset, "latin1");
		bytes.set([0xe9, 2], 0);
		bytes.writeUInt8(0xee, 8);
		bytes.writeUInt16LE(chipIds[chip], 12);
		bytes.writeUInt16LE(0xffff, 17);
		bytes.writeUInt8(1, 23);
		bytes.writeUInt32LE(256 + 64, 24 + 4);
		bytes.writeUInt32LE(0xabcd5432, 0x20);
		text(0x20 + 16, "1.4.0-rc.1");
		text(0x20 + 48, "device-gateway");
		text(0x20 + 112, "v6.0");
		text(0x120, "DAG1");
		bytes.writeUInt32LE(64, 0x124);
		text(0x128, "PROTO-1");
		text(0x138, "1.4.0-rc.1");
		bytes.writeUInt16LE(chip === "esp32s3-qemu" ? 2 : 0, 0x158);
		bytes.writeUInt32LE(1_767_225_600, 0x15c);
		bytes.writeUInt32LE(8, 0x160 + 4);
		text(0x168, "program\n");
		// app_elf_sha256; a virtual device's image has that of its descriptors and segments.
		const program = [bytes.subarray(0, 0x160), bytes.subarray(0x168, 0x170)];
		bytes.set(createHash("sha256").update(Buffer.concat(program)).digest(), 0x20 + 144);
		const data = [...bytes.subarray(0x20, 0x160), ...bytes.subarray(0x168, 0x170)];
		const checksum = data.reduce((sum, byte) => sum ^ byte, 0xef);
		bytes.writeUInt8(checksum, 0x17f);

		const image = encodeImage({
			chip,
			model: "PROTO-1",
			version: "1.4.0-rc.1",
			project: "device-gateway",
			idfVersion: "v6.0",
			buildTime: 1_767_225_600,
			segments: [Buffer.from("program")],
		});
		const sha256 = createHash("sha256").update(bytes).digest();
		assert.equal(image.toString("hex"), Buffer.concat([bytes, sha256]).toString("hex"));
	});

test("each descriptor string may fill its field except for the NUL", () => {
	const content = { chip: "virtual", model: "DEV-1", version: "1.0.0", project: "", idfVersion: "" } as const;
	for (const field of ["version", "project", "idfVersion"] as const) {
		encodeImage({ ...content, segments: [], [field]: "x".repeat(31) });
		assert.throws(() => encodeImage({ ...content, segments: [], [field]: "x".repeat(32) }), /at most 31/);
	}
});
