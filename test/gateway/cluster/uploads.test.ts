/** Tests of concurrent uploads and faults in a cluster. */

import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { type Bucket, type Bus, BusError } from "../../../gateway/bus.js";
import { joinGateways } from "../../../gateway/cluster/extension.js";
import { UploadStore } from "../../../gateway/firmware/upload-store.js";
import { sha256Of } from "../../support/bytes.js";
import { onEnd, temporaryDirectory } from "../../support/cleanup.js";
import { waitUntil } from "../../support/eventually.js";
import { type MemoryBus, MemoryServer } from "../../support/memory-bus.js";

async function start(t: TestContext, bus: Bus, dataDir: string) {
	const { records, blobs } = joinGateways(bus, dataDir, []);
	assert.ok(records && blobs, "the gateway has no stores on the bus");
	const problems: string[] = [];
	const onProblem = (problem: string) => void problems.push(problem);
	const store = new UploadStore({
		records: (kind) => records({ ...kind, onProblem }),
		blobs,
		now: () => 0,
		onProblem,
	});
	await store.open();
	onEnd(t, () => store.settle());
	return {
		store,
		problems,
		upload: async (text: string) => {
			const draft = await store.begin();
			await draft.write(Buffer.from(text));
			return draft.commit({ filename: text, size: text.length, sha256: sha256Of(text) });
		},
		content: async () => {
			const path = store.current && (await store.path(store.current));
			return path && readFile(path, "utf8");
		},
		/** Cache folder. */
		binaries: async () => (await readdir(join(dataDir, "firmware"))).filter((name) => name.endsWith(".bin")),
	};
}

/** Lets the buckets of a bus lose the response after a write if `isLost` returns true. */
function losing(bus: MemoryBus, isLost: () => boolean): MemoryBus {
	const open = bus.bucket.bind(bus);
	bus.bucket = async (...words) => {
		const bucket = await open(...words);
		const set = async (...entry: Parameters<Bucket["set"]>) => {
			const answer = await bucket.set(...entry);
			if (isLost()) throw new BusError("timeout", "No answer.");
			return answer;
		};
		return { ...bucket, set };
	};
	return bus;
}

async function two(t: TestContext, wrap = (bus: MemoryBus) => bus) {
	const server = new MemoryServer();
	const a = await start(t, wrap(server.connect()), await temporaryDirectory(t));
	const b = await start(t, server.connect(), await temporaryDirectory(t));
	return { a, b, files: await server.connect().files("gw-firmware") };
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
	await waitUntil(isSo, () => turn());
}

test("accepts two concurrent uploads, serves one at all gateways, and removes the other", async (t) => {
	const { a, b, files } = await two(t);
	await a.upload("first");
	await Promise.all([a.upload("by a"), b.upload("by b")]);
	const bothServe = async (text: string) => {
		for (const gateway of [a, b]) {
			if ((await gateway.content()) !== text) return false;
			if (String(await gateway.binaries()) !== `${sha256Of(text)}.bin`) return false;
		}
		return true;
	};
	await until(async () => (await bothServe("by a")) || (await bothServe("by b")));
	const lost = (await a.content()) === "by a" ? "by b" : "by a";
	assert.equal(await files.get(sha256Of(lost)), undefined);
	assert.equal(await files.get(sha256Of("first")), undefined);
	assert.deepEqual([...a.problems, ...b.problems], []);
});

test("rejects an upload whose record write is unacknowledged, and keeps the previous one", async (t) => {
	let lost = 1;
	const { a, b } = await two(t, (bus) => losing(bus, () => lost-- > 0));
	await assert.rejects(a.upload("none before"), BusError);
	await until(async () => !a.store.current && !b.store.current);
	await a.upload("first");
	lost = 1;
	await assert.rejects(a.upload("second"), BusError);
	for (const gateway of [a, b]) await until(async () => (await gateway.content()) === "first");
	await until(async () => (await a.binaries()).length === 1);
});

test("refetches a binary changed in the cache at the next start", async (t) => {
	const server = new MemoryServer();
	const dataDir = await temporaryDirectory(t);
	await (await start(t, server.connect(), dataDir)).upload("first");
	await writeFile(join(dataDir, "firmware", `${sha256Of("first")}.bin`), "other");
	const { content, problems } = await start(t, server.connect(), dataDir);
	assert.equal(await content(), "first");
	assert.deepEqual(problems, []);
});
