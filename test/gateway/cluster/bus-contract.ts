/** Contract tests for each implementation of Bus. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, type TestContext, test } from "node:test";
import { type Bucket, type Bus, BusError, subjectOf } from "../../../gateway/bus.js";
import type { Entry } from "../../../gateway/storage/log.js";
import { assertSameBytes } from "../../support/bytes.js";
import { waitUntil } from "../../support/eventually.js";
import { follow, Told, testLog } from "../storage/log-contract.js";

/** Several buses on one server, closed with the test. */
export interface Buses {
	connect(): Promise<Bus>;
	/** Resolves once the bus has detected it. */
	cut(bus: Bus): Promise<void>;
	/** Resolves once connected. */
	heal(bus: Bus): Promise<void>;
}

export async function* inChunks(content: Uint8Array, size = 50_000): AsyncIterable<Uint8Array> {
	for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
}

export async function contentOf(chunks: AsyncIterable<Uint8Array> | undefined): Promise<Buffer> {
	assert.ok(chunks, "the file is missing");
	const read = [];
	for await (const chunk of chunks) read.push(chunk);
	return Buffer.concat(read);
}

const isProblem = (problem: BusError["problem"]) => (error: unknown) =>
	error instanceof BusError && error.problem === problem;

type Change = readonly [key: string, text: string | undefined];

async function watched(bucket: Bucket) {
	const told = new Told<Change>();
	const stop = await bucket.watch((key, entry: Entry | undefined) => told.add([key, entry?.text]));
	return { told, stop };
}

/** Waits for a message of each sender, after which all subscriptions are active. */
async function meet(...buses: readonly Bus[]): Promise<void> {
	for (const bus of buses) {
		const told = new Told<string>();
		const stop = bus.subscribe("meet", told.add);
		for (const other of buses)
			await waitUntil(() => {
				other.publish("meet", String(buses.indexOf(other)));
				return told.list.includes(String(buses.indexOf(other)));
			});
		stop();
	}
}

/** @param make respects the test's timeout */
export function testBus(name: string, make: (t: TestContext) => Promise<Buses>): void {
	const two = async (t: TestContext) => {
		const buses = await make(t);
		return { buses, a: await buses.connect(), b: await buses.connect() };
	};
	const three = async (t: TestContext) => {
		const { buses, a, b } = await two(t);
		return { buses, a, b, c: await buses.connect() };
	};
	const twoBuckets = async (t: TestContext) => {
		const { buses, a, b } = await two(t);
		return { buses, a, ours: await a.bucket("gw-test"), theirs: await b.bucket("gw-test") };
	};

	describe(`${name}: messages`, () => {
		test("reach all subscribers of their subject in order, including the sender, until they stop", async (t) => {
			const { a, b, c } = await three(t);
			const [own, others, any, stopped] = [
				new Told<string>(),
				new Told<string>(),
				new Told<string>(),
				new Told<string>(),
			];
			a.subscribe("gw.hb.one", own.add);
			b.subscribe("gw.hb.one", others.add);
			const stop = b.subscribe("gw.hb.one", stopped.add);
			c.subscribe("gw.hb.*", (text, subject) => any.add(`${subject} ${text}`));
			await meet(a, b, c);
			stop();
			const sent = Array.from({ length: 100 }, (_, index) => `text ${index} äöü 🎵`);
			for (const text of sent) a.publish("gw.hb.one", text);
			a.publish("gw.hb.two", "two");
			a.publish("gw.hb", "too short");
			a.publish("gw.hb.one.more", "too long");
			a.publish("gw.hb.end", "end");
			await any.until((list) => list.includes("gw.hb.end end"));
			const relayed = sent.map((text) => `gw.hb.one ${text}`);
			assert.deepEqual(any.list, [...relayed, "gw.hb.two two", "gw.hb.end end"]);
			for (const told of [own, others])
				assert.deepEqual(await told.until(({ length }) => length >= 100), sent);
			assert.deepEqual(stopped.list, []);
		});

		test("have subjects of arbitrary tokens", async (t) => {
			const { a, b } = await two(t);
			const told = new Told<string>();
			const parts = ["a.b", "*", ">", "a b", "ä\n", "$SYS", "%2E"];
			for (const part of parts) b.subscribe(subjectOf("gw", part), () => told.add(part));
			await meet(a, b);
			for (const part of parts) a.publish(subjectOf("gw", part), "");
			assert.deepEqual(await told.until((list) => list.length >= parts.length), parts);
		});

		test("are flushed when a bus is closed, and not received after", async (t) => {
			const { a, b } = await two(t);
			const [told, own] = [new Told<string>(), new Told<string>()];
			b.subscribe("s", told.add);
			a.subscribe("late", own.add);
			await meet(a, b);
			a.publish("s", "last");
			await a.close();
			await told.until((list) => list.length > 0);
			b.publish("late", "1");
			await meet(b);
			assert.deepEqual([told.list, own.list, a.isConnected], [["last"], [], false]);
			await assert.rejects(a.request("s", "", 1000), isProblem("disconnected"));
		});
	});

	describe(`${name}: request`, () => {
		test("is answered by the server of its subject, which may be the sender", async (t) => {
			const { a, b } = await two(t);
			b.serve("double", async (text) => text + text);
			await meet(a, b);
			const answers = await Promise.all(["x", "y", ""].map((text) => a.request("double", text, 5000)));
			assert.deepEqual(answers, ["xx", "yy", ""]);
			a.serve("own", async (text) => `${text}!`);
			assert.equal(await a.request("own", "me", 5000), "me!");
		});

		test("fails without a server, after its end, or on a timeout", async (t) => {
			const { a, b } = await two(t);
			const stop = b.serve("gone", async () => "here");
			b.serve("throws", () => Promise.reject(new Error("planted")));
			b.serve("never", () => new Promise(() => {}));
			await meet(a, b);
			assert.equal(await a.request("gone", "", 5000), "here");
			stop();
			await meet(a, b);
			for (const subject of ["gone", "unserved"])
				await assert.rejects(a.request(subject, "", 5000), isProblem("disconnected"));
			for (const subject of ["throws", "never"])
				await assert.rejects(a.request(subject, "", 50), isProblem("timeout"));
		});
	});

	describe(`${name}: bucket`, () => {
		test("is written by compare-and-set", async (t) => {
			const { ours, theirs } = await twoBuckets(t);
			assert.equal(await ours.get("k"), undefined);
			const first = (await ours.set("k", "1", 0)) ?? 0;
			assert.ok(first >= 1, `revision ${first}`);
			assert.equal(await theirs.set("k", "2", 0), undefined);
			const second = (await theirs.set("k", "2", first)) ?? 0;
			assert.ok(second > first, `revision ${second} after ${first}`);
			assert.equal(await ours.set("k", "3", first), undefined);
			assert.deepEqual(await ours.get("k").then((entry) => [entry?.text, entry?.revision]), ["2", second]);
			assert.equal(await ours.remove("k", first), false);
			assert.equal(await ours.remove("k", second), true);
			assert.equal(await theirs.get("k"), undefined);
			assert.equal(await theirs.set("k", "2", second), undefined);
			const third = (await theirs.set("k", "4", 0)) ?? 0;
			assert.ok(third > second, `revision ${third} after ${second}`);
		});

		test("accepts one of many concurrent writes", async (t) => {
			const { ours, theirs } = await twoBuckets(t);
			let revision = 0;
			for (const round of ["1", "2", "3"]) {
				const from = revision;
				const writers = [ours, theirs, ours, theirs, ours, theirs];
				const written = await Promise.all(writers.map((writer) => writer.set("k", round, from)));
				const won = written.filter((result) => result !== undefined);
				assert.equal(won.length, 1, String(written));
				revision = won[0] ?? 0;
			}
		});

		test("stores any text as keys and values", async (t) => {
			const bucket = await (await (await make(t)).connect()).bucket("gw-test");
			const texts = ["a.b", "a", "*", ">", "a b", "ä/=_-", "", ".", "%", "🎵".repeat(50), "$", "a\nb"];
			for (const text of texts) assert.ok(await bucket.set(text, text, 0), JSON.stringify(text));
			for (const text of texts) assert.equal((await bucket.get(text))?.text, text, JSON.stringify(text));
			const { told } = await watched(bucket);
			assert.deepEqual(told.list.toSorted(), texts.map((text) => [text, text]).sort());
		});

		test("is separate from buckets with other names", async (t) => {
			const a = await (await make(t)).connect();
			const [first, second] = [await a.bucket("gw-one"), await a.bucket("gw-two")];
			await first.set("k", "1", 0);
			assert.equal(await second.get("k"), undefined);
			assert.deepEqual([...(await a.buckets())].sort(), ["gw-one", "gw-two"]);
		});

		test("sends watchers all values, if any, then each change", async (t) => {
			const { a, ours, theirs } = await twoBuckets(t);
			const empty = await a.bucket("gw-empty");
			const early = await watched(empty);
			assert.deepEqual(early.told.list, []);
			await empty.set("k", "1", 0);
			await early.told.until((list) => list.length > 0);
			const firstRevision = (await ours.set("one", "1", 0)) ?? 0;
			await ours.set("two", "2", 0);
			const three = (await ours.set("three", "3", 0)) ?? 0;
			await ours.remove("three", three);
			const { told, stop } = await watched(theirs);
			assert.deepEqual(new Map(told.list), new Map(Object.entries({ one: "1", two: "2" })));
			// A bucket keeps the latest value of a key, and may skip one that is replaced at once.
			const again = (await ours.set("one", "1b", firstRevision)) ?? 0;
			await told.until((list) => list.length >= 3);
			await theirs.remove("one", again);
			await told.until((list) => list.length >= 4);
			await theirs.set("one", "1c", 0);
			await ours.set("four", "4", 0);
			await told.until((list) => list.length >= 6);
			const later = told.list.slice(2).map((entry) => entry.join(" "));
			assert.deepEqual(later, ["one 1b", "one ", "one 1c", "four 4"]);
			stop();
			const other = await watched(theirs);
			await ours.set("five", "5", 0);
			await other.told.until((list) => list.length >= 4);
			assert.equal(told.list.length, 6);
		});
	});

	testLog(name, async (t) => {
		const { a, b } = await two(t);
		return [await a.log("gw-test-log"), await b.log("gw-test-log")];
	});

	test(`${name}: log of several processes is replayed from its beginning after an outage of the server`, async (t) => {
		const { buses, a, b } = await two(t);
		const [ours, theirs] = [await a.log("gw-test-log"), await b.log("gw-test-log")];
		const first = (await ours.append("k", "1", 0)) ?? 0;
		const { all, told, wasRead } = await follow(ours);
		await buses.cut(a);
		await assert.rejects(ours.append("k", "2", first), isProblem("disconnected"));
		await assert.rejects(ours.removeBefore("k", 1), isProblem("disconnected"));
		const second = (await theirs.append("k", "2", first)) ?? 0;
		await buses.heal(a);
		await wasRead(2);
		const expected = ["1", "2"].map((text) => ["k", text]);
		assert.deepEqual(all[1], expected);
		await theirs.append("k", "3", second);
		assert.deepEqual(await told.until((list) => list.length > 0), [["k", "3"]]);
	});

	describe(`${name}: files`, () => {
		test("are read back unchanged by name, once", async (t) => {
			const { a, b } = await two(t);
			const [ours, theirs] = [await a.files("gw-files"), await b.files("gw-files")];
			const [image, other] = [randomBytes(3_000_000), randomBytes(100)];
			assert.equal(await theirs.get("x"), undefined);
			await ours.put("x", inChunks(image));
			await theirs.put("x", inChunks(other));
			await ours.put("y", inChunks(other));
			assertSameBytes(await contentOf(await theirs.get("x")), image);
			assertSameBytes(await contentOf(await ours.get("y")), other);
			for (let times = 0; times < 2; times += 1) await theirs.remove("x");
			assert.equal(await ours.get("x"), undefined);
			assert.notEqual(await ours.get("y"), undefined);
			assert.deepEqual(await theirs.names(), ["y"]);
		});

		test("are missing if their content is unreadable", async (t) => {
			const files = await (await (await make(t)).connect()).files("gw-files");
			async function* broken() {
				yield randomBytes(200_000);
				throw new Error("planted");
			}
			await assert.rejects(files.put("x", broken()), /planted/);
			assert.equal(await files.get("x"), undefined);
			await files.put("x", inChunks(Buffer.from("whole")));
			assert.equal(String(await contentOf(await files.get("x"))), "whole");
		});
	});

	describe(`${name}: disconnected bus`, () => {
		test("reports its state, drops messages, fails requests, and resumes after reconnecting", async (t) => {
			const { buses, a, b } = await two(t);
			const [status, told] = [new Told<boolean>(), new Told<string>()];
			const [bucket, files] = [await a.bucket("gw-test"), await a.files("gw-files")];
			a.onStatus(status.add);
			a.subscribe("s", told.add);
			b.subscribe("s", told.add);
			b.serve("r", async () => "here");
			await meet(a, b);
			await buses.cut(a);
			assert.deepEqual([a.isConnected, b.isConnected, status.list], [false, true, [false]]);
			for (let index = 0; index < 1000; index += 1) a.publish("s", "lost");
			for (const work of [
				() => a.request("r", "", 1000),
				() => bucket.get("k"),
				() => bucket.set("k", "1", 0),
				() => bucket.remove("k", 1),
				() => bucket.watch(() => {}),
				() => files.get("x"),
				() => files.put("x", inChunks(Buffer.from("x"))),
				() => a.bucket("gw-other"),
				() => a.files("gw-other"),
			])
				await assert.rejects(work, isProblem("disconnected"), String(work));
			b.publish("s", "b alone");
			await told.until((list) => list.length > 0);
			await buses.heal(a);
			await status.until((list) => list.length > 1);
			assert.deepEqual([a.isConnected, status.list], [true, [false, true]]);
			await meet(a, b);
			a.publish("s", "both");
			await told.until((list) => list.length >= 3);
			assert.deepEqual(told.list, ["b alone", "both", "both"]);
			assert.equal(await a.request("r", "", 5000), "here");
			assert.notEqual(await bucket.set("k", "1", 0), undefined);
		});

		test("receives missed changes and removals of a bucket, then each change", async (t) => {
			const { buses, a, ours, theirs } = await twoBuckets(t);
			const revisions = new Map<string, number>();
			const set = async (key: string, text: string) =>
				revisions.set(key, (await theirs.set(key, text, revisions.get(key) ?? 0)) ?? assert.fail(key));
			const remove = async (key: string) => {
				assert.equal(await theirs.remove(key, revisions.get(key) ?? 0), true);
				revisions.delete(key);
			};
			for (const key of ["same", "changed", "removed", "removed and back"]) await set(key, "1");
			const { told } = await watched(ours);
			told.list.length = 0;
			await buses.cut(a);
			await set("changed", "2");
			await set("new", "1");
			for (const key of ["removed", "removed and back"]) await remove(key);
			await set("removed and back", "2");
			await set("new and gone", "1");
			await remove("new and gone");
			assert.deepEqual(told.list, []);
			await buses.heal(a);
			const tells = (expectedKey: string, text: string | undefined) =>
				told.until((list) => list.some(([key, value]) => key === expectedKey && value === text));
			const expected = { changed: "2", new: "1", "removed and back": "2" };
			for (const [key, text] of Object.entries(expected)) await tells(key, text);
			await tells("removed", undefined);
			await set("same", "2");
			await tells("same", "2");
			const last = [...new Map(told.list)].filter(([, text]) => text !== undefined);
			assert.deepEqual(Object.fromEntries(last), { ...expected, same: "2" });
		});
	});
}
