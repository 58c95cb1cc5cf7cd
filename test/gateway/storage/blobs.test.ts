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
	/** Whether they are kept elsewhere too. */
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
	await draft.keep(sha256);
	return blobs;
}

/** A disk on which a file disappears between the look for it and its reading. @param times how often */
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

describe("a blob that is read", () => {
	test("is what was kept, until it is removed", async (t) => {
		const blobs = await makeBlobs(t);
		assert.deepEqual(await blobs.read(sha256), content);
		await blobs.remove(sha256);
		assert.equal(await blobs.read(sha256), undefined);
	});

	test("and removed meanwhile is none", async (t) => {
		const blobs = await makeBlobs(t, { disk: losingDisk() });
		assert.equal(await blobs.read(sha256), undefined);
	});

	test("and lost meanwhile is fetched again, if it is kept elsewhere", async (t) => {
		const blobs = await makeBlobs(t, { disk: losingDisk(), isShared: true });
		assert.deepEqual(await blobs.read(sha256), content);
	});

	test("and lost again once it was fetched is none", async (t) => {
		const blobs = await makeBlobs(t, { disk: losingDisk(2), isShared: true });
		assert.equal(await blobs.read(sha256), undefined);
	});

	test("and was changed on disk is none, or fetched again", async (t) => {
		for (const isShared of [false, true]) {
			const blobs = await makeBlobs(t, { isShared });
			await writeFile(blobs.placeOf(sha256), "changed");
			assert.deepEqual(await blobs.read(sha256), isShared ? content : undefined);
		}
	});
});
