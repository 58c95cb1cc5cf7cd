/** Settings in flash: ESP-IDF's format, and consistency after a power cut. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { settingsNamespace } from "../../../../hosts/esp32/nvs-image.js";
import { Flash, PowerCut } from "../../../../hosts/virtual/node/boot/flash.js";
import { loadSettings, NvsStore, readSettings } from "../../../../hosts/virtual/node/boot/nvs-store.js";
import { flashBytes, partitions } from "../../../../hosts/virtual/node/boot/partitions.js";
import { readStrings } from "../../esp32/nvs/reader.js";

const { offset, byteLength } = partitions.nvs;

function flashWith(values: Readonly<Record<string, string>>): Flash {
	const flash = new Flash({ byteLength: flashBytes });
	loadSettings(flash, new Map(Object.entries(values)));
	return flash;
}

describe("settings in flash", () => {
	test("return the latest values immediately, after a restart and for an independent reader", () => {
		const flash = flashWith({ ssid: "network", ca: "x".repeat(3999), volume: "7" });
		const store = new NvsStore({ flash });
		store.write("ssid", "other");
		store.write("token", "é😀");
		store.delete("volume");
		for (const opened of [store, new NvsStore({ flash })]) {
			assert.equal(opened.read("ssid"), "other");
			assert.equal(opened.read("volume"), undefined);
		}
		const expected = new Map([
			["ssid", "other"],
			["ca", "x".repeat(3999)],
			["token", "é😀"],
		]);
		assert.deepEqual(readSettings(flash), expected);
		assert.deepEqual(readStrings(flash.read(offset, byteLength), settingsNamespace), expected);
	});

	test("write nothing if unchanged; each change is one operation", () => {
		const flash = flashWith({ ssid: "network" });
		const store = new NvsStore({ flash });
		store.write("ssid", "network");
		store.delete("volume");
		assert.equal(flash.operations, 0);
		store.write("ssid", "other");
		store.delete("ssid");
		assert.equal(flash.operations, 2);
	});

	test("are rejected if they do not fit, and the old ones stay", () => {
		const flash = flashWith({});
		const store = new NvsStore({ flash });
		for (let index = 0; index < 15; index++) store.write(`key${index}`, "x".repeat(3900));
		assert.throws(() => store.write("more", "x".repeat(3900)), /do not fit into an NVS partition/);
		assert.throws(() => store.write("key0", "z".repeat(4000)), /maximum is 3999/);
		assert.throws(() => store.write("sixteenletters16", ""), /15/);
		for (const opened of [store, new NvsStore({ flash })]) {
			assert.equal(opened.read("key0"), "x".repeat(3900));
			assert.equal(opened.read("more"), undefined);
		}
	});

	for (const [moment, expected] of [
		["before", "old"],
		["middle", "old"],
		["after", "new"],
	] as const)
		test(`are complete after a power cut ${moment} a change`, () => {
			const flash = flashWith({ token: "old", ssid: "network" });
			flash.cutAt(1, moment);
			assert.throws(() => new NvsStore({ flash }).write("token", "new"), PowerCut);
			flash.powerOn();
			const store = new NvsStore({ flash });
			assert.equal(store.read("token"), expected);
			assert.equal(store.read("ssid"), "network");
		});
});
