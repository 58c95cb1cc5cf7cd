import assert from "node:assert/strict";
import fs, { appendFile, mkdir, readdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { type Disk, strictDisk } from "../../../gateway/storage/atomic-file.js";
import { FileLog } from "../../../gateway/storage/file-log.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { changingDisk, systemError } from "../../support/disk.js";
import { follow, testLog } from "./log-contract.js";

async function open(t: TestContext, disk: Disk = fs, existing?: string) {
	const directory = existing ?? join(await temporaryDirectory(t), "log");
	const problems: string[] = [];
	const log = new FileLog({ directory, disk, onProblem: (problem) => void problems.push(problem) });
	const all = async () => (await follow(log)).all[0];
	return { log, problems, directory, all };
}

testLog("files", async (t) => {
	const { log } = await open(t);
	return [log, log];
});

describe("log in files", () => {
	test("keeps entries and revisions across a restart", async (t) => {
		const { log, directory } = await open(t);
		const first = (await log.append("a", "1", 0)) ?? 0;
		await log.append("b/c", "2", 0);
		const third = (await log.append("a", "3", first)) ?? 0;
		const { log: next, all, problems } = await open(t, fs, directory);
		assert.equal(await next.append("a", "4", first), undefined);
		const fourth = (await next.append("a", "4", third)) ?? 0;
		assert.ok(fourth > third, `revision ${fourth} after ${third}`);
		assert.deepEqual((await all())?.map(String).sort(), ["a,1", "a,3", "a,4", "b/c,2"]);
		await next.removeBefore("b/c", fourth);
		assert.deepEqual(await readdir(directory), ["a.jsonl"]);
		assert.deepEqual(problems, []);
	});

	test("replaces the entries of a key, or removes it", async (t) => {
		const { log, directory, all } = await open(t);
		const first = (await log.append("a", "1", 0)) ?? 0;
		assert.equal(await log.replace("a", ["2"], 0), undefined);
		const latest = (await log.replace("a", ["2", "3"], first)) ?? 0;
		assert.equal(String(await all()), "a,2,a,3");
		assert.equal(await log.replace("a", [], latest), 0);
		assert.deepEqual([await all(), await readdir(directory)], [[], []]);
		assert.notEqual(await log.append("a", "4", 0), undefined);
	});

	test("loses only damaged lines, and leaves unrelated files unchanged", async (t) => {
		const { log, directory } = await open(t);
		const first = (await log.append("a", "1", 0)) ?? 0;
		await appendFile(join(directory, "a.jsonl"), "\0\0\n[7,\n[]\n[2,2");
		for (const name of ["a (copy)", "100%"]) await writeFile(join(directory, `${name}.jsonl`), "[1,1]\n");
		const { log: next, all, problems } = await open(t, fs, directory);
		assert.deepEqual(await all(), [["a", "1"]]);
		assert.equal(problems.length, 1, problems.join("\n"));
		assert.match(problems.join(), /a\.jsonl has 4 damaged lines/);
		assert.notEqual(await next.append("a", "2", first), undefined);
		assert.equal((await readFile(join(directory, "a.jsonl"), "utf8")).split("\n").length, 3);
	});

	test("rejects writes while a file is unreadable, and has all entries afterwards", async (t) => {
		const { log, directory } = await open(t);
		const first = (await log.append("a", "1", 0)) ?? 0;
		const volume = join(await temporaryDirectory(t), "volume");
		await rename(directory, volume);
		await mkdir(directory);
		const file = join(directory, "a.jsonl");
		await symlink(join(volume, "later", "a.jsonl"), file);
		const { log: next, problems } = await open(t, strictDisk(fs), directory);
		const { all, told } = await follow(next);
		assert.deepEqual([all, problems.length], [[[]], 1]);
		await assert.rejects(next.append("a", "2", 0), /a\.jsonl is a link to \S+, which is missing/);
		await mkdir(join(volume, "later"));
		await rename(join(volume, "a.jsonl"), join(volume, "later", "a.jsonl"));
		assert.equal(await next.append("a", "2", 0), undefined, "it is not empty");
		assert.deepEqual(told.list, [["a", "1"]]);
		assert.notEqual(await next.append("a", "2", first), undefined);
		assert.equal(await readFile(file, "utf8"), `[${first},1]\n[${first + 1},2]\n`);
	});

	test("contains all acknowledged and no rejected entries, wherever the disk fails", async (t) => {
		let steps = 0;
		let failing = Number.POSITIVE_INFINITY;
		let end = Number.POSITIVE_INFINITY;
		const disk = changingDisk(() => {
			steps += 1;
			if (steps >= failing && steps < end) throw systemError("ENOSPC");
		});
		const textsOf = async (directory: string) => {
			const all = (await (await open(t, fs, directory)).all()) ?? [];
			return all.flatMap(([key, text]) => (key === "a" ? [text] : []));
		};
		/** Appends until everything is stored. @returns the number of disk operations */
		const fill = async (at: number, length: number) => {
			steps = 0;
			[failing, end] = [at, at + length];
			const { log, directory } = await open(t, disk);
			let latest = 0;
			for (const text of ["1", "2", "3"])
				for (;;) {
					const before = latest;
					try {
						latest = (await log.append("a", text, latest)) ?? assert.fail("rejected");
						break;
					} catch (error) {
						if (!(error instanceof Error && error.message === "ENOSPC")) throw error;
						// An entry whose write failed may exist until the next write.
						const there = await textsOf(directory);
						const known = ["1", "2", "3"].slice(0, Number(text) - 1);
						assert.deepEqual(there.slice(0, known.length), known, `cut at ${at}`);
						assert.ok(there.length <= Number(text), `${there}`);
						assert.equal(latest, before);
						// Another key is written meanwhile.
						await log.append(`b${steps}`, "x", 0).catch(() => {});
					}
				}
			assert.deepEqual(await textsOf(directory), ["1", "2", "3"], `cut at ${at}`);
			return steps;
		};
		const total = await fill(Number.POSITIVE_INFINITY, 0);
		assert.ok(total >= 10, `${total} steps`);
		for (let at = 1; at <= total; at++) for (const length of [1, 2, 6]) await fill(at, length);
	});
});
