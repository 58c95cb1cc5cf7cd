/** Settings in flash: written as ESP-IDF's library writes them, and readable after a power cut at any operation. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { makeNvsImage, readNvs } from "../../../../hosts/esp32/nvs-image.js";
import {
	type CutMoment,
	cutMoments,
	Flash,
	PowerCut,
	sectorBytes,
} from "../../../../hosts/virtual/node/boot/flash.js";
import { NvsStore } from "../../../../hosts/virtual/node/boot/nvs-store.js";
import { readStrings } from "../../esp32/nvs/reader.js";

const namespace = "settings";

/** An NVS partition of that many pages, in a flash of its own. */
class Bench {
	readonly flash: Flash;
	readonly partition: { readonly offset: number; readonly byteLength: number };

	constructor(pages: number, content?: Buffer) {
		this.partition = { offset: sectorBytes, byteLength: pages * sectorBytes };
		this.flash = new Flash({ byteLength: (pages + 1) * sectorBytes });
		if (content) this.flash.load(sectorBytes, Buffer.from(content));
	}

	get content(): Buffer {
		return this.flash.read(this.partition.offset, this.partition.byteLength);
	}

	open(): NvsStore {
		return new NvsStore({ flash: this.flash, partition: this.partition, namespace });
	}
}

interface Change {
	readonly key: string;
	/** Undefined: the key is deleted. */
	readonly value: string | undefined;
}

const keys = ["k0", "k1", "k2", "k3", "k4", "k5"];

/** The same ones each time: most values are short, some fill a quarter of a page, one change in ten deletes. */
function* changes(count: number): Generator<Change> {
	let state = 9;
	const below = (limit: number) => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return Math.floor((state / 2 ** 32) * limit);
	};
	for (let index = 0; index < count; index++) {
		const key = keys[below(keys.length)] ?? "";
		const letter = String.fromCharCode(97 + below(26));
		const length = below(10) < 8 ? below(70) : below(900);
		yield { key, value: below(10) === 0 ? undefined : `${letter.repeat(length)}${index}` };
	}
}

function apply(store: NvsStore, { key, value }: Change): void {
	if (value === undefined) store.delete(key);
	else store.write(key, value);
}

function applyTo(values: ReadonlyMap<string, string>, { key, value }: Change): Map<string, string> {
	const changed = new Map(values);
	if (value === undefined) changed.delete(key);
	else changed.set(key, value);
	return changed;
}

describe("settings in flash", () => {
	test("are the last ones written, immediately and after a restart", () => {
		const bench = new Bench(3);
		let values = new Map<string, string>();
		let store = bench.open();
		let count = 0;
		for (const change of changes(400)) {
			apply(store, change);
			values = applyTo(values, change);
			count += 1;
			if (count % 7 === 0) store = bench.open();
			for (const key of keys) assert.equal(store.read(key), values.get(key));
		}
		const sorted = (map: ReadonlyMap<string, string>) => [...map].sort();
		assert.deepEqual(sorted(readNvs(bench.content, namespace)), sorted(values));
		assert.deepEqual(sorted(readStrings(bench.content, namespace)), sorted(values));
	});

	test("are byte for byte as ESP-IDF's library writes them, through every compaction", () => {
		// After the same changes with nvs_flash of ESP-IDF v6.0 (Storage::writeItem, eraseItem), compiled for Linux.
		for (const [pages, count, expected] of [
			[3, 250, "35ef6f17082d925ae8d6d5c5235dd39074b5e8ed5e656b488c74fdfc6df5ac9f"],
			[4, 700, "29851b27fd7034b6f7ce8db73f2e3d5685fa6a5e1469429e70809d0d4190aba8"],
			[16, 2500, "051c91896b15a64f418261d463fa776157eb1ccb494b5cd697ebb503ab632bee"],
		] as const) {
			const bench = new Bench(pages);
			const store = bench.open();
			for (const change of changes(count)) apply(store, change);
			assert.equal(createHash("sha256").update(bench.content).digest("hex"), expected, `${pages} pages`);
		}
	});

	test("are found in a flashed image, and an unchanged value writes nothing", () => {
		const values = { ssid: "network", ca: "x".repeat(3999) };
		const bench = new Bench(
			16,
			Buffer.from(makeNvsImage({ byteLength: 16 * sectorBytes, namespace, values })),
		);
		const store = bench.open();
		assert.equal(store.read("ca"), values.ca);
		store.write("ssid", "network");
		assert.equal(store.read("volume"), undefined);
		store.delete("volume");
		assert.equal(bench.flash.operations, 0);
		store.write("ssid", "other");
		assert.equal(bench.open().read("ssid"), "other");
		assert.equal(bench.open().read("ca"), values.ca);
	});

	test("that do not fit are refused, and the old ones stay", () => {
		const bench = new Bench(3);
		const store = bench.open();
		store.write("a", "x".repeat(3900));
		store.write("b", "y".repeat(3900));
		assert.throws(() => store.write("c", "z".repeat(3900)), /ESP_ERR_NVS_NOT_ENOUGH_SPACE/);
		assert.throws(() => store.write("a", "z".repeat(4000)), /at most 3999/);
		assert.throws(() => store.write("sixteenletters16", ""), /15/);
		for (const opened of [store, bench.open()]) {
			assert.equal(opened.read("a"), "x".repeat(3900));
			assert.equal(opened.read("b"), "y".repeat(3900));
			assert.equal(opened.read("c"), undefined);
		}
	});

	test("are set again if the partition contains noise", () => {
		const noise = Buffer.from(Array.from({ length: 3 * sectorBytes }, (_, at) => (at * 89) & 0xff));
		const store = new Bench(3, noise).open();
		store.write("volume", "7");
		assert.equal(store.read("volume"), "7");
	});
});

/** Power goes at an operation of a change or of the recovery after it, and comes back. */
function cut(bench: Bench, operation: number, moment: CutMoment, action: () => void): void {
	bench.flash.cutAt(operation, moment);
	assert.throws(action, PowerCut);
	bench.flash.powerOn();
}

/** @returns what is wrong after a restart: each key must have its old value or the new one, and can be changed further */
function problemAfter(bench: Bench, old: ReadonlyMap<string, string>, change: Change): string | undefined {
	const store = bench.open();
	const changed = applyTo(old, change);
	for (const key of keys) {
		const value = store.read(key);
		if (value !== old.get(key) && value !== changed.get(key)) return `${key} is ${value?.slice(0, 20)}`;
	}
	store.write(change.key, "next");
	if (bench.open().read(change.key) !== "next") return "the next value is not kept";
	store.delete(change.key);
	const left = bench.open().read(change.key);
	return left === undefined ? undefined : `${left.slice(0, 20)} came back`;
}

/** How many flash operations an action takes. */
function operationsOf(flash: Flash, action: () => void): number {
	const before = flash.operations;
	action();
	return flash.operations - before;
}

test("a power cut before, in the middle of or after each flash operation of random changes loses no setting", (t) => {
	const bench = new Bench(3);
	const store = bench.open();
	let values = new Map<string, string>();
	let cuts = 0;
	for (const change of changes(250)) {
		const content = bench.content;
		const count = operationsOf(bench.flash, () => apply(store, change));
		for (let operation = 1; operation <= count; operation++)
			for (const moment of cutMoments) {
				const again = new Bench(3, content);
				const opened = again.open();
				cut(again, operation, moment, () => apply(opened, change));
				cuts += 1;
				assert.equal(problemAfter(again, values, change), undefined, `${moment} ${operation}, ${change.key}`);
			}
		values = applyTo(values, change);
	}
	assert.ok(cuts > 3000);
	t.diagnostic(`${cuts} power cuts`);
});

test("a second power cut while the store recovers loses no setting either", (t) => {
	const bench = new Bench(3);
	const store = bench.open();
	let values = new Map<string, string>();
	let cuts = 0;
	let number = 0;
	for (const change of changes(250)) {
		const content = bench.content;
		const count = operationsOf(bench.flash, () => apply(store, change));
		// Every third operation of every third change, and all of those that make room.
		for (let operation = 1; operation <= count; operation += count > 30 || number % 3 === 0 ? 3 : count) {
			const first = new Bench(3, content);
			const opened = first.open();
			cut(first, operation, "middle", () => apply(opened, change));
			const left = first.content;
			const recovery = operationsOf(first.flash, () => first.open());
			for (let at = 1; at <= recovery; at++)
				for (const moment of cutMoments) {
					const again = new Bench(3, left);
					cut(again, at, moment, () => again.open());
					cuts += 1;
					assert.equal(problemAfter(again, values, change), undefined, `${operation}, then ${moment} ${at}`);
				}
		}
		number += 1;
		values = applyTo(values, change);
	}
	assert.ok(cuts > 1000);
	t.diagnostic(`${cuts} second power cuts`);
});
