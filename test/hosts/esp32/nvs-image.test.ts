/** ESP-IDF's NVS format: this project writes what ESP-IDF's tools write, and reads what its library leaves behind. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { crc32, gunzipSync } from "node:zlib";
import { makeNvsImage, readNvs } from "../../../hosts/esp32/nvs-image.js";
import { assertSameBytes } from "../../support/bytes.js";
import { readStrings } from "./nvs/reader.js";

const namespace = "settings";
const byteLength = 0x10000;

/** All settings for flashing, with the longest value that fits. */
const full = {
	ssid: "café Zürich",
	password: "p".repeat(63),
	gateway: "wss://gateway.example:8443/device",
	token: "t".repeat(200),
	ca: `${"MIIB".repeat(999)}MII`,
	sntp: "pool.ntp.org",
	long: "x".repeat(2000),
};

describe("NVS image", () => {
	test("equals the output of Espressif's generator", () => {
		// Output of nvs_partition_gen.py (esp-idf-nvs-partition-gen 0.2.0) for: settings,namespace,,
		// ssid,data,string,network password,data,string,correct horse. The first 256 bytes; the rest is erased.
		const expected = [
			"feffffff00000000feffffffffffffffffffffffffffffffffffffff842dbab9",
			"aafeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
			"000101ff4db4c23373657474696e6773000000000000000001ffffffffffffff",
			"012102ffdc9adc8f737369640000000000000000000000000800ffff3bb4688a",
			"6e6574776f726b00ffffffffffffffffffffffffffffffffffffffffffffffff",
			"012102ff8b8462ce70617373776f726400000000000000000e00ffffcb36b68d",
			"636f727265637420686f72736500ffffffffffffffffffffffffffffffffffff",
			"ff".repeat(32),
		].join("");
		const image = makeNvsImage({
			byteLength,
			namespace,
			values: { ssid: "network", password: "correct horse" },
		});
		assert.equal(Buffer.from(image.subarray(0, 256)).toString("hex"), expected);
		assert.equal(image.byteLength, byteLength);
		assertSameBytes(image.subarray(256), new Uint8Array(byteLength - 256).fill(0xff));
	});

	test("equals the output of ESP-IDF's library over several pages", () => {
		// The same values written in order by nvs_flash of ESP-IDF v6.0 (Storage::writeItem), compiled for Linux.
		const digest = createHash("sha256").update(makeNvsImage({ byteLength, namespace, values: full }));
		assert.equal(digest.digest("hex"), "c8007061a14533dbb222bd9db92ed7cdee76f1986e1748cd4976c33209c02395");
	});

	test("is read back, even by an independent reader", () => {
		for (const values of [{}, { ssid: "", token: "é😀" }, full]) {
			const image = makeNvsImage({ byteLength, namespace, values });
			assert.deepEqual(readNvs(image, namespace), new Map(Object.entries(values)));
			assert.deepEqual(readStrings(image, namespace), new Map(Object.entries(values)));
			assert.equal(readNvs(image, "others").size, 0);
		}
	});

	test("leaves a page free, which NVS needs to move items", () => {
		const value = "x".repeat(3900);
		const values = { a: value, b: value, c: value };
		assert.equal(readNvs(makeNvsImage({ byteLength: 0x4000, namespace, values }), namespace).size, 3);
		const make = () => makeNvsImage({ byteLength: 0x3000, namespace, values });
		assert.throws(make, /do not fit into an NVS partition/);
	});

	test("fills its pages to the last entry", () => {
		// 1 entry for the namespace and 125 for a; 126 for b.
		const values = { a: "x".repeat(124 * 32 - 1), b: "x".repeat(3999) };
		assert.equal(readNvs(makeNvsImage({ byteLength: 0x3000, namespace, values }), namespace).size, 2);
	});

	test("rejects values that a device could not read, and names the limit", () => {
		const make = (values: Record<string, string>, length = byteLength) =>
			makeNvsImage({ byteLength: length, namespace, values });
		assert.equal(readNvs(make({ ca: "x".repeat(3999) }), namespace).get("ca")?.length, 3999);
		assert.throws(() => make({ ca: "x".repeat(4000) }), /ca has 4000 bytes; the maximum is 3999/);
		assert.throws(() => make({ ca: "é".repeat(2000) }), /maximum is 3999/);
		assert.throws(() => make({ token: "a\0b" }), /NUL/);
		assert.throws(() => make({ sixteenletters16: "" }), /15/);
		assert.throws(() => make({ "": "" }), /15/);
		assert.throws(() => make({ é: "" }), /ASCII/);
		assert.throws(() => make({}, 0x2000), /at least 3 pages/);
		assert.throws(() => make({}, 0x10001), /at least 3 pages/);
	});
});

/**
 * Partitions of four pages as nvs_flash of ESP-IDF v6.0, compiled for Linux, left them after some hundred writes, so
 * that pages were compacted and are out of order. Two ended by a power cut while `ca` was rewritten.
 */
const left = (name: string) => gunzipSync(readFileSync(new URL(`./nvs/${name}.bin.gz`, import.meta.url)));

describe("NVS written by ESP-IDF's library", () => {
	/** Partition with a second namespace that contains a blob, a number and an ssid. */
	const used = left("used");
	const expected = new Map([
		["brightness", "0.39"],
		["ca", "B".repeat(1400)],
		["empty", ""],
		["ssid", "café"],
		["token", "new-token-é😀"],
		["volume", "119"],
	]);
	const sorted = (values: Map<string, string>) => new Map([...values].sort());

	test("is read as by the library: only the latest values of that namespace", () => {
		assert.deepEqual(sorted(readNvs(used, namespace)), expected);
		assert.deepEqual(sorted(readStrings(used, namespace)), expected);
		assert.deepEqual(readNvs(used, "phy"), new Map([["ssid", "of another namespace"]]));
	});

	test("is read after a power cut as by the library: the old value, or the new one once it is complete", () => {
		for (const [name, ca] of [
			["cut-in-write", "old"],
			["cut-after-write", "new"],
		] as const) {
			const values = readNvs(left(name), namespace);
			assert.equal(values.get("ca"), ca.repeat(300), name);
			assert.deepEqual([...values.keys()].sort(), ["brightness", "ca", "ssid", "token", "volume"], name);
		}
	});

	test("is read up to the value before a damaged string", () => {
		const damaged = Buffer.from(used);
		damaged.writeUInt8(0, used.lastIndexOf("0.39"));
		assert.deepEqual(sorted(readNvs(damaged, namespace)), new Map([...expected].slice(1)));
	});

	test("is rejected if it has a later version", () => {
		const later = Buffer.from(makeNvsImage({ byteLength, namespace, values: {} }));
		later.writeUInt8(0xfd, 8);
		assert.equal(readNvs(later, namespace).size, 0, "its CRC is wrong");
		later.writeUInt32LE(crc32(later.subarray(4, 28), 0xffff_ffff), 28);
		assert.throws(() => readNvs(later, namespace), /Unsupported NVS version/);
	});

	test("is empty if it is blank or random", () => {
		const noise = Uint8Array.from({ length: byteLength }, (_, at) => (at * 31) & 0xff);
		for (const image of [noise, new Uint8Array(byteLength).fill(0xff), new Uint8Array(byteLength)])
			assert.equal(readNvs(image, namespace).size, 0);
	});
});
