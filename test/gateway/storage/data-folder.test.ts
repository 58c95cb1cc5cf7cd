import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import fs, { constants, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { StartError } from "../../../gateway/problem.js";
import { explainFolderErrors, findDiskProblem, lockFolder } from "../../../gateway/storage/data-folder.js";
import { onEnd, temporaryDirectory } from "../../support/cleanup.js";
import { failingDisk, systemError } from "../../support/disk.js";
import { waitUntil } from "../../support/eventually.js";

async function makeLocks(t: TestContext) {
	const directory = await temporaryDirectory(t);
	const path = join(directory, "gateway.lock");
	const lost: string[] = [];
	const lock = async (renewMs = 20) => {
		const onLost = (sentence: string) => void lost.push(sentence);
		const unlock = await lockFolder({ directory, disk: fs, onLost, onProblem: assert.fail, renewMs });
		onEnd(t, unlock);
		return unlock;
	};
	const content = async () => JSON.parse(await readFile(path, "utf8"));
	return { directory, path, lost, lock, content };
}

/** Child process that is not a gateway. */
function bystander(t: TestContext): ChildProcess {
	const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "ignore" });
	onEnd(t, () => child.kill("SIGKILL"));
	return child;
}

describe("lock of a data folder", () => {
	test("is rejected while held, naming its process, and leaves no file once released", async (t) => {
		const { directory, lock } = await makeLocks(t);
		const unlock = await lock();
		await assert.rejects(lock(), (error) => {
			assert.ok(error instanceof StartError, `failed with ${error}`);
			const who = `process ${process.pid} on ${hostname()}`;
			assert.equal(
				error.message,
				`DATA_DIR "${directory}" is in use by ${who}. Stop it, or set DATA_DIR to another folder. If no gateway uses it any more, remove ${join(directory, "gateway.lock")}.`,
			);
			return true;
		});
		await unlock();
		assert.deepEqual(await readdir(directory), []);
		await lock();
	});

	test("is free in a copy of a locked folder", async (t) => {
		const running = await makeLocks(t);
		await running.lock();
		const copy = await makeLocks(t);
		await fs.cp(running.directory, copy.directory, { recursive: true, preserveTimestamps: true });
		assert.deepEqual(await copy.content(), await running.content());
		await copy.lock();
		assert.notEqual((await copy.content()).id, (await running.content()).id);
		await assert.rejects(running.lock(), /in use by/);
		assert.deepEqual([...running.lost, ...copy.lost], []);
	});

	test("is free after its process was killed, even if the process id is reused", async (t) => {
		const { path, lock, content } = await makeLocks(t);
		// A killed process no longer checks its lock.
		await lock(60_000);
		const { pid } = bystander(t);
		await writeFile(path, JSON.stringify({ ...(await content()), id: "killed", pid }));
		await lock();
		assert.equal((await content()).pid, process.pid);
	});

	test("is free if empty or damaged", async (t) => {
		const { path, lock, content } = await makeLocks(t);
		for (const damaged of ["", "{", '{"pid":"1"}', "null"]) {
			await writeFile(path, damaged);
			const unlock = await lock();
			assert.equal((await content()).pid, process.pid);
			await unlock();
		}
	});

	test("of another container is held while its timestamp changes", async (t) => {
		const { path, lock, content } = await makeLocks(t);
		const unlock = await lock();
		const elsewhere = { ...(await content()), id: "elsewhere", pid: 1, place: "other", host: "box-2" };
		await unlock();
		await writeFile(path, JSON.stringify(elsewhere));
		let seconds = 1_000_000;
		const beat = setInterval(() => void utimes(path, seconds, seconds++).catch(() => {}), 10);
		t.after(() => clearInterval(beat));
		await assert.rejects(lock(), /in use by process 1 on box-2. Stop it/);
		clearInterval(beat);
		await lock();
		assert.equal((await content()).pid, process.pid);
	});

	test("is renewed by its holder, rewritten if removed, and given up if another process has taken it", async (t) => {
		const { path, lost, lock, content } = await makeLocks(t);
		await lock(10);
		const own = await content();
		const { mtimeMs } = await fs.stat(path);
		await waitUntil(async () => (await fs.stat(path)).mtimeMs !== mtimeMs);
		await rm(path);
		await waitUntil(async () => (await content().catch(() => ({}))).id === own.id);
		for (let times = 0; lost.length === 0 && times < 1000; times++) {
			// Repeated, as the holder rewrites a partially written file.
			await writeFile(path, JSON.stringify({ ...own, id: "other", pid: 7, host: "box-2" }));
			await new Promise((resolve) => setTimeout(resolve, 15));
		}
		assert.match(String(lost), /in use by process 7 on box-2/);
	});

	test("does not prevent a start on a full or read-only disk, and is taken later", async (t) => {
		for (const code of ["ENOSPC", "EROFS"]) {
			const directory = join(await temporaryDirectory(t), "new");
			const problems: string[] = [];
			const onProblem = (problem: string) => void problems.push(problem);
			const { disk } = failingDisk("create", code);
			onEnd(t, await lockFolder({ directory, disk, onLost: assert.fail, onProblem, renewMs: 10 }));
			assert.match(String(problems), new RegExp(`gateway\\.lock cannot be written \\(${code}\\)`));
			await waitUntil(async () => (await readdir(directory)).includes("gateway.lock"));
		}
	});
});

test("names a folder that cannot be used, and passes on defects", async () => {
	await assert.rejects(explainFolderErrors("data", Promise.reject(systemError("EACCES"))), (error) => {
		assert.ok(error instanceof StartError, `failed with ${error}`);
		assert.equal(error.message, 'Cannot use DATA_DIR "data" (EACCES). Set it to a folder of its own.');
		return true;
	});
	const defect = new TypeError("defect");
	await assert.rejects(explainFolderErrors("data", Promise.reject(defect)), defect);
});

test("reports a full or read-only disk", async (t) => {
	const directory = await temporaryDirectory(t);
	const full = new Proxy(fs.statfs, { apply: async () => ({ bavail: 0 }) });
	const access = async (_path: unknown, mode = 0) => {
		if (mode & constants.W_OK) throw systemError("EROFS");
	};
	assert.equal(await findDiskProblem(fs, directory), undefined);
	assert.equal(await findDiskProblem({ ...fs, statfs: full }, directory), "The data folder's disk is full.");
	const problem = await findDiskProblem({ ...fs, access }, directory);
	assert.equal(problem, "The data folder cannot be used (EROFS).");
});
