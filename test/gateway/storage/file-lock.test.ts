import assert from "node:assert/strict";
import disk, { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { withFileLock } from "../../../gateway/storage/file-lock.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { failingDisk } from "../../support/disk.js";
import { nextEvent } from "../../support/eventually.js";
import { startProcess } from "../../support/gateway-process.js";

async function counter(t: TestContext) {
	const path = join(await temporaryDirectory(t), "count");
	await writeFile(path, "0");
	const count = () =>
		withFileLock(disk, path, async () => {
			await writeFile(path, String(Number(await readFile(path, "utf8")) + 1));
		});
	return { path, count, lock: `${path}.lock` };
}

/** Takes the lock in another process, which is then killed. @returns the lock that it leaves */
async function killHolder(t: TestContext, path: string): Promise<string> {
	const program = `
		import disk from "node:fs/promises";
		import { withFileLock } from "./gateway/storage/file-lock.js";
		await withFileLock(disk, process.env.FILE, () => new Promise(() => console.log("locked")));`;
	const child = startProcess(
		t,
		{ FILE: path },
		{ program: ["--import", "tsx", "--input-type=module", "-e", program] },
	);
	if (child.stdout) await nextEvent(child.stdout, "data");
	child.kill("SIGKILL");
	await nextEvent(child, "exit");
	return readFile(`${path}.lock`, "utf8");
}

describe("lock of a file", () => {
	test("serializes concurrent changes, also after its holder and the process that removed its lock were killed", async (t) => {
		const { path, count, lock } = await counter(t);
		const stale = await killHolder(t, path);
		await writeFile(`${lock}.lock`, stale);
		await Promise.all(Array.from({ length: 10 }, count));
		assert.equal(await readFile(path, "utf8"), "10");
		assert.deepEqual(await readdir(join(path, "..")), ["count"]);
	});

	test("is released after a failure", async (t) => {
		const { path, count } = await counter(t);
		const failed = withFileLock(disk, path, () => Promise.reject(new Error("planted")));
		await assert.rejects(failed, /planted/);
		await count();
		assert.equal(await readFile(path, "utf8"), "1");
	});

	test("is rejected while another change lasts longer than the limit", async (t) => {
		const { path } = await counter(t);
		const wait = () => withFileLock(disk, path, async () => {}, 1);
		await withFileLock(disk, path, () => assert.rejects(wait, { code: "EBUSY" }));
	});

	test("leaves no file on a full disk", async (t) => {
		const { path } = await counter(t);
		const full = failingDisk("write", "ENOSPC").disk;
		const locked = withFileLock(full, path, async () => {});
		await assert.rejects(locked, { code: "ENOSPC" });
		assert.deepEqual(await readdir(join(path, "..")), ["count"]);
	});
});
