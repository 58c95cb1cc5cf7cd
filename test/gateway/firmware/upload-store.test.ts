import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { UploadStore } from "../../../gateway/firmware/upload-store.js";
import { assertSameBytes, sha256Of } from "../../support/bytes.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { changingDisk, diskWith, systemError } from "../../support/disk.js";
import { runFirmwareServer, uploadsIn } from "../../support/firmware-server.js";
import { makeImage } from "../../support/images.js";

const previous = makeImage();
const next = makeImage({ version: "1.5.0" });

/** Disk whose n-th step fails with ENOSPC, or from whose n-th step nothing changes, as after SIGKILL. */
function failingDisk(end: "full" | "killed") {
	let at = Number.POSITIVE_INFINITY;
	let count = 0;
	const disk = changingDisk((operation) => {
		if (end === "full" ? operation === "rm" || ++count !== at : ++count < at) return;
		throw systemError("ENOSPC");
	});
	const failAt = (step: number) => {
		[at, count] = [step, 0];
	};
	return { disk, failAt };
}

test("returns 507 at any step of an upload to a full disk, and keeps the previous firmware", async (t) => {
	const full = failingDisk("full");
	const serving = await runFirmwareServer(t, { disk: full.disk });
	const status = (await serving.upload(previous)).json;
	let steps = 0;
	for (let step = 1; ; step++) {
		full.failAt(step);
		const answer = await serving.upload(next);
		if (answer.status === 201) break;
		steps = step;
		assert.equal(answer.status, 507, `step ${step}`);
		assert.match(String(answer.json.detail), /disk is full\. Nothing was changed/);
		assert.deepEqual((await serving.request("/ota/status")).json, status);
		assertSameBytes((await serving.request("/ota/firmware.bin")).body, previous);
		assert.equal((await readdir(serving.uploadsDir)).length, 2, `leftovers after step ${step}`);
		assert.equal(serving.problems.length, step);
		assert.equal(await inNextRun(serving.uploadsDir), sha256Of(previous), `after step ${step}`);
	}
	assert.ok(steps >= 10, `only ${steps} steps were tried`);
	assertSameBytes((await serving.request("/ota/firmware.bin")).body, next);
	assert.equal(await inNextRun(serving.uploadsDir), sha256Of(next));
});

test("has the complete previous or new firmware, and nothing else, after a kill at any step of an upload", async (t) => {
	const outcomes: boolean[] = [];
	for (let step = 1, wasKilled = true; wasKilled; step++) {
		const folder = await temporaryDirectory(t);
		await keep(folder, previous, "previous.bin");
		const { disk, failAt } = failingDisk("killed");
		const store = uploadsIn(folder, { disk, onProblem: () => {} });
		await store.open();
		failAt(step);
		const upload = async () => {
			const draft = await store.begin();
			try {
				await draft.write(next.subarray(0, 40_000));
				await draft.write(next.subarray(40_000));
				await draft.commit({
					filename: "next.bin",
					size: next.length,
					version: "1.5.0",
					sha256: sha256Of(next),
				});
			} catch (error) {
				// Closes the file, which the disk no longer removes.
				await draft.discard().catch(() => {});
				throw error;
			}
		};
		wasKilled = await upload().then(
			() => false,
			() => true,
		);
		const found = await inNextRun(folder);
		assert.ok(found === sha256Of(previous) || found === sha256Of(next), `step ${step}: ${found}`);
		assert.equal((await readdir(folder)).length, 2, `leftovers of step ${step}`);
		outcomes.push(found === sha256Of(next));
		await keep(folder, next, "after.bin");
	}
	assert.ok(outcomes.length >= 12, `only ${outcomes.length} steps`);
	assert.deepEqual(outcomes, [...outcomes].sort(), "new firmware lost at a later step");
	assert.equal(new Set(outcomes).size, 2);
});

test("syncs each file before its rename, and the folder after, against power loss", async (t) => {
	const steps: string[] = [];
	const disk = changingDisk((operation) => void steps.push(operation));
	const directory = await temporaryDirectory(t);
	const store = uploadsIn(directory, { disk, onProblem: assert.fail });
	await store.open();
	const draft = await store.begin();
	await draft.write(previous);
	await draft.commit({ filename: "x.bin", size: previous.length, sha256: sha256Of(previous) });
	const file = ["create", "write", "write", "sync", "rename", "sync"];
	assert.deepEqual(steps, [...file, ...file]);
});

describe("damaged folder", () => {
	for (const [what, name, content] of [
		["its description is not JSON", "upload.json", "{"],
		["its description lacks a field", "upload.json", '{"filename":"x.bin","size":5}'],
	] as const)
		test(`is reported if ${what}, has no firmware, and accepts the next upload`, async (t) => {
			const folder = await temporaryDirectory(t);
			await keep(folder, previous, "previous.bin");
			await writeFile(join(folder, name), content);
			const problems: string[] = [];
			const store = await openStore(folder, problems);
			assert.equal(store.current, undefined);
			assert.match(String(problems), /^[^,]+lost.+upload it again\.$/);
			await keep(folder, next, "next.bin");
			assert.equal((await openStore(folder, [])).current?.sha256, sha256Of(next));
		});
	test("opens and logs folders named like its description or a leftover", async (t) => {
		const folder = await temporaryDirectory(t);
		await mkdir(join(folder, "upload.json"));
		await mkdir(join(folder, "x.tmp"));
		await writeFile(join(folder, `${sha256Of(previous)}.bin`), previous);
		const problems: string[] = [];
		const store = await openStore(folder, problems);
		assert.equal(store.current, undefined);
		assert.equal(problems.length, 2);
		assert.match(String(problems[0]), /upload\.json is not a regular file\. Remove it/);
		assert.match(String(problems[1]), /Deleting an unused file failed: .*x\.tmp/);
		assert.equal((await readdir(folder)).length, 3, "missing binary");
	});
	test("keeps the description of an unreadable binary", async (t) => {
		const folder = await temporaryDirectory(t);
		await keep(folder, previous, "previous.bin");
		const disk = diskWith((operation, path) => {
			if (operation === "readFile" && path.endsWith(".bin")) throw systemError("EIO");
		});
		const store = uploadsIn(folder, { disk, onProblem: assert.fail });
		await store.open();
		assert.equal(store.current?.sha256, sha256Of(previous));
		assert.equal(await inNextRun(folder), sha256Of(previous));
	});
	test("keeps the previous upload on EMFILE, across a restart", async (t) => {
		const folder = await temporaryDirectory(t);
		await keep(folder, previous, "previous.bin");
		let isExhausted = false;
		const disk = diskWith((operation) => {
			if (isExhausted && /^(rename|readFile)$/.test(operation)) throw systemError("EMFILE");
		});
		const store = uploadsIn(folder, { disk, onProblem: () => {} });
		await store.open();
		const draft = await store.begin();
		await draft.write(next);
		isExhausted = true;
		await assert.rejects(
			draft.commit({ filename: "next.bin", size: next.length, sha256: sha256Of(next) }),
			/EMFILE/,
		);
		assert.equal(store.current?.sha256, sha256Of(previous));
		assert.equal(await inNextRun(folder), sha256Of(previous));
	});
});

/** @returns the SHA-256 of the firmware found by a new gateway */
async function inNextRun(directory: string): Promise<string | undefined> {
	const problems: string[] = [];
	const { current } = await openStore(directory, problems);
	assert.deepEqual(problems, []);
	return current?.sha256;
}

async function openStore(directory: string, problems: string[]): Promise<UploadStore> {
	const store = uploadsIn(directory, { onProblem: (problem) => void problems.push(problem) });
	await store.open();
	return store;
}

async function keep(directory: string, image: Uint8Array, filename: string): Promise<void> {
	const draft = await (await openStore(directory, [])).begin();
	await draft.write(image);
	await draft.commit({ filename, size: image.length, version: "1.4.0", sha256: sha256Of(image) });
}
