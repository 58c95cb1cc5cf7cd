import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs, { rm, writeFile } from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import type { Disk } from "../../../gateway/storage/atomic-file.js";
import { Blobs } from "../../../gateway/storage/blobs.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { MemoryServer } from "../../support/memory-bus.js";

const content = Buffer.from("a blob");
const sha256 = createHash("sha256").update(content).digest("hex");

interface BlobsSetup {
	readonly disk?: Disk;
	/** Whether blobs are stored elsewhere too. */
	readonly isShared?: boolean;
}

async function makeBlobs(t: TestContext, { disk = fs, isShared = false }: BlobsSetup = {}) {
	const directory = await temporaryDirectory(t);
	const files = new MemoryServer().connect().files("blobs");
	const blobs = new Blobs({
		directory,
		suffix: ".bin",
		disk,
		onProblem: (problem) => assert.fail(problem),
		...(isShared && { files: () => files }),
	});
	const draft = await blobs.begin();
	await draft.write(content);
	await draft.commit(sha256);
	return blobs;
}

/** Disk on which a file disappears between stat and read. @param times how often */
function losingDisk(times = 1): Disk {
	let left = times;
	const readFile = new Proxy(fs.readFile, {
		apply: async (target, self, words: [path: string]) => {
			if (left-- > 0) await rm(words[0]);
			return Reflect.apply(target, self, words);
		},
	});
	return { ...fs, readFile };
}

describe("reading a blob", () => {
	test("returns what was stored, until it is removed", async (t) => {
		const blobs = await makeBlobs(t);
		assert.deepEqual(await blobs.read(sha256), content);
		await blobs.remove(sha256);
		assert.equal(await blobs.read(sha256), undefined);
	});

	test("returns undefined if it is removed meanwhile", async (t) => {
		const blobs = await makeBlobs(t, { disk: losingDisk() });
		assert.equal(await blobs.read(sha256), undefined);
	});

	test("fetches it again if it was lost and is stored elsewhere", async (t) => {
		const blobs = await makeBlobs(t, { disk: losingDisk(), isShared: true });
		assert.deepEqual(await blobs.read(sha256), content);
	});

	test("returns undefined if it is lost again after fetching", async (t) => {
		const blobs = await makeBlobs(t, { disk: losingDisk(2), isShared: true });
		assert.equal(await blobs.read(sha256), undefined);
	});

	test("returns undefined or fetches it again if it was modified on disk", async (t) => {
		for (const isShared of [false, true]) {
			const blobs = await makeBlobs(t, { isShared });
			await writeFile(blobs.pathOf(sha256), "changed");
			assert.deepEqual(await blobs.read(sha256), isShared ? content : undefined);
		}
	});
});
