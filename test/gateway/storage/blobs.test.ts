import assert from "node:assert/strict";
import fs, { readdir, rm, writeFile } from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import type { Disk } from "../../../gateway/storage/atomic-file.js";
import { Blobs } from "../../../gateway/storage/blobs.js";
import { sha256Of } from "../../support/bytes.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { diskWith } from "../../support/disk.js";
import { MemoryServer } from "../../support/memory-bus.js";

const content = Buffer.from("a blob");
const sha256 = sha256Of(content);

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
	return diskWith((operation, path) => (operation === "readFile" && times-- > 0 ? rm(path) : undefined));
}

describe("reading a blob", () => {
	test("returns what was stored, until it is removed", async (t) => {
		const blobs = await makeBlobs(t);
		assert.deepEqual(await blobs.read(sha256), content);
		await blobs.remove(sha256);
		assert.equal(await blobs.read(sha256), undefined);
	});

	test("returns undefined or fetches it again if it is removed meanwhile", async (t) => {
		for (const [times, isShared, expected] of [
			[1, false, undefined],
			[1, true, content],
			[2, true, undefined],
		] as const) {
			const blobs = await makeBlobs(t, { disk: losingDisk(times), isShared });
			assert.deepEqual(await blobs.read(sha256), expected);
		}
	});

	test("returns undefined or fetches it again if it was modified on disk", async (t) => {
		for (const isShared of [false, true]) {
			const blobs = await makeBlobs(t, { isShared });
			await writeFile(blobs.pathOf(sha256), "changed");
			assert.deepEqual(await blobs.read(sha256), isShared ? content : undefined);
		}
	});

	test("rejects shared content with another digest, and keeps none of it", async (t) => {
		const directory = await temporaryDirectory(t);
		const files = await new MemoryServer().connect().files("blobs");
		async function* other() {
			yield Buffer.from("another");
		}
		await files.put(sha256, other());
		const shared = { directory, suffix: ".bin", disk: fs, files: async () => files };
		const blobs = new Blobs({ ...shared, onProblem: assert.fail });
		await assert.rejects(blobs.read(sha256), /does not match the SHA-256/);
		assert.deepEqual(await readdir(directory), []);
	});
});
