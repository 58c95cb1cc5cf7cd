import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { readPartitionTable } from "../../../hosts/esp32/partition-table.js";
import { makePartitionTable, partitions } from "../../../hosts/virtual/node/boot/partitions.js";

test("equals the output of ESP-IDF's generator, and is read back", () => {
	const table = makePartitionTable();
	assert.equal(table.length, 0xc00);
	// gen_esp32part.py: magic aa 50, type, subtype, offset, size, name, flags.
	const nvs = ["aa50", "01", "02", "00000100", "00000100", "6e7673".padEnd(32, "0"), "00000000"].join("");
	assert.equal(table.toString("hex", 32, 2 * 32), nvs);
	const end = 32 * Object.keys(partitions).length;
	assert.equal(table.toString("hex", end, end + 16), `ebeb${"ff".repeat(14)}`);
	const md5 = createHash("md5").update(table.subarray(0, end)).digest("hex");
	assert.equal(table.toString("hex", end + 16, end + 32), md5);
	const places = Object.entries(partitions).map(([name, { kind: _, ...place }]) => [name, place] as const);
	assert.deepEqual([...readPartitionTable(table)], places);
});

test("has no partitions if the bytes are no partition table", () => {
	assert.equal(readPartitionTable(new Uint8Array(0xc00).fill(0xff)).size, 0);
	assert.equal(readPartitionTable(new Uint8Array()).size, 0);
});
