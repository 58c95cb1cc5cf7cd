import assert from "node:assert/strict";
import fs, { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { integer, object } from "../../../device/protocol/schema.js";
import { type Disk, strictDisk, writeFileAtomic } from "../../../gateway/storage/atomic-file.js";
import { fileRecords } from "../../../gateway/storage/file-records.js";
import { jsonRecord } from "../../../gateway/storage/records.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { diskWith, systemError } from "../../support/disk.js";
import { deferred, waitUntil } from "../../support/eventually.js";

async function makeFolder(t: TestContext, disk: Disk = fs, problems?: string[]) {
	const directory = await temporaryDirectory(t);
	const folder = fileRecords<{ value: number }>({
		directory,
		disk,
		what: "values",
		...jsonRecord(object({ value: integer(0, 1000) })),
		onProblem: (problem) => (problems ? void problems.push(problem) : assert.fail(problem)),
	});
	const contentOf = async (deviceId: string) =>
		String(JSON.parse(await readFile(join(directory, `${deviceId}.json`), "utf8")).value);
	return { directory, folder, contentOf };
}

describe("records on disk", () => {
	test("ignore other files in the folder", async (t) => {
		const { directory, folder } = await makeFolder(t);
		await folder.save("a", { value: 1 });
		await writeFile(join(directory, "a.json.bak"), "2");
		await writeFile(join(directory, "b"), "3");
		await mkdir(join(directory, "c"));
		await mkdir(join(directory, "d.tmp"));
		assert.deepEqual(await folder.load(), new Map([["a", { value: 1 }]]));
		assert.deepEqual((await readdir(directory)).sort(), ["a.json", "a.json.bak", "b", "c", "d.tmp"]);
	});

	test("coalesce changes; each resolves once it or a later one is written", async (t) => {
		const { directory, folder, contentOf } = await makeFolder(t);
		const changes = [];
		for (let value = 0; value < 20; value += 1) {
			changes.push(folder.save("a", { value }).then(() => contentOf("a")));
			if (value % 3 === 0) await changes.at(-3);
		}
		for (const [value, content] of (await Promise.all(changes)).entries())
			assert.ok(Number(content) >= value, `${content} after ${value} was saved`);
		assert.equal(await contentOf("a"), "19");
		void folder.save("a", { value: 20 });
		await folder.remove("a");
		assert.deepEqual(await readdir(directory), []);
	});

	test("are written at most eight at a time, all before settle() resolves", async (t) => {
		let writing = 0;
		let most = 0;
		let isSecondWave = false;
		const disk = diskWith(async (operation) => {
			if (operation !== "create") return;
			writing += 1;
			most = Math.max(most, writing);
			if (!isSecondWave) for (let id = 100; id < 200; id += 1) void folder.save(`dev-1-${id}`, { value: id });
			isSecondWave = true;
			await new Promise((resolve) => setImmediate(resolve));
			writing -= 1;
		});
		const { directory, folder } = await makeFolder(t, disk);
		for (let id = 0; id < 100; id += 1) void folder.save(`dev-1-${id}`, { value: id });
		await folder.settle();
		assert.equal((await readdir(directory)).length, 200);
		assert.ok(most > 1 && most <= 8, `${most} at a time`);
	});

	test("are neither open nor partly written after a failure", async (t) => {
		const directory = await temporaryDirectory(t);
		const files: fs.FileHandle[] = [];
		const { open, ...disk } = diskWith((operation) => {
			if (operation === "sync") throw systemError("EIO");
		});
		const watched: Disk["open"] = async (...parameters) => {
			const file = await open(...parameters);
			files.push(file);
			return file;
		};
		await assert.rejects(writeFileAtomic({ ...disk, open: watched }, join(directory, "a"), "1"), /EIO/);
		// A closed file has no descriptor.
		assert.deepEqual([files.map(({ fd }) => fd), await readdir(directory)], [[-1], []]);
	});
});

describe("isolates a damaged file:", () => {
	test("a file that is damaged, or cannot be read or removed", async (t) => {
		const disk = diskWith((operation, path) => {
			if (/^(readFile|rm)$/.test(operation) && /bad|stuck/.test(path)) throw systemError("EIO");
		});
		const problems: string[] = [];
		const { directory, folder } = await makeFolder(t, disk, problems);
		for (const name of ["bad.json", "good.json", "stuck.tmp"])
			await writeFile(join(directory, name), '{"value":1}');
		await writeFile(join(directory, "damaged.json"), "x");
		assert.deepEqual(await folder.load(), new Map([["good", { value: 1 }]]));
		assert.equal(problems.length, 3);
		assert.deepEqual([...folder.unread], ["bad"]);
		for (const sentence of [
			"bad.json cannot be read or removed (EIO)",
			"damaged.json is damaged; the values in it are lost",
			"stuck.tmp cannot be read or removed (EIO)",
		])
			assert.ok(
				problems.some((problem) => problem.startsWith(join(directory, sentence))),
				`problems: ${problems}`,
			);
		assert.equal(await folder.save("damaged", { value: 2 }), true);
	});

	test("a symbolic link is followed, a broken one loses that record", async (t) => {
		const problems: string[] = [];
		const { directory, folder } = await makeFolder(t, strictDisk(fs), problems);
		await writeFile(join(directory, "target"), '{"value":1}');
		await symlink("target", join(directory, "a.json"));
		await symlink("missing", join(directory, "b.json"));
		await symlink("missing", join(directory, "of a person"));
		assert.deepEqual(await folder.load(), new Map([["a", { value: 1 }]]));
		assert.equal(problems.length, 1, String(problems));
		assert.match(String(problems), /b\.json is a link to missing, which is missing/);
	});

	test("a directory in place of a record blocks neither writes nor readiness", async (t) => {
		const problems: string[] = [];
		const { directory, folder, contentOf } = await makeFolder(t, fs, problems);
		await mkdir(join(directory, "a.json"));
		assert.deepEqual(await folder.load(), new Map());
		const sentence = /a\.json is not a regular file\. Remove it, as the values of a cannot be stored/;
		assert.match(String(problems), sentence);
		const saved = [folder.save("a", { value: 1 }), folder.save("b", { value: 2 })];
		assert.deepEqual(await Promise.all(saved), [false, true]);
		assert.equal(await contentOf("b"), "2");
		assert.equal(folder.readinessProblem, undefined);
		await folder.close();
	});
});

describe("failed write", () => {
	/** Disk on which creating a file fails while an error code is set. */
	function failingDisk() {
		const state = { code: "", tries: 0 };
		const disk = diskWith((operation) => {
			if (operation !== "create") return;
			state.tries += 1;
			if (state.code !== "") throw systemError(state.code);
		});
		return { state, disk };
	}
	test("is retried every second until it succeeds, and is reported by readiness", async (t) => {
		t.mock.timers.enable({ apis: ["setTimeout"] });
		const { state, disk } = failingDisk();
		const problems: string[] = [];
		const { directory, folder, contentOf } = await makeFolder(t, disk, problems);
		state.code = "EROFS";
		assert.equal(await folder.save("a", { value: 1 }), false);
		assert.equal(folder.readinessProblem, `${directory} cannot be written (EROFS).`);
		for (let second = 1; second <= 3; second += 1) {
			const { tries } = state;
			t.mock.timers.tick(1000);
			await waitUntil(() => state.tries === tries + 1);
			await folder.settle();
			await new Promise((resolve) => setImmediate(resolve));
		}
		assert.equal(problems.length, 1, "it is reported once");
		state.code = "";
		t.mock.timers.tick(1000);
		await waitUntil(() => folder.readinessProblem === undefined);
		assert.equal(await contentOf("a"), "1");
		await folder.close();
	});

	for (const later of [{ value: 2 }, undefined])
		test(`does not overwrite ${later ? "a later one" : "a removal"} in progress`, async (t) => {
			t.mock.timers.enable({ apis: ["setTimeout"] });
			const held = deferred();
			let [isFull, isChanging] = [true, false];
			const disk = diskWith((operation) => {
				if (operation === "create" && isFull) throw systemError("ENOSPC");
				if (operation !== "rename" && operation !== "rm") return;
				isChanging ||= !isFull;
				return isFull ? undefined : held.promise;
			});
			const { directory, folder, contentOf } = await makeFolder(t, disk, []);
			await folder.save("a", { value: 1 });
			isFull = false;
			const done = later ? folder.save("a", later) : folder.remove("a");
			await waitUntil(() => isChanging);
			t.mock.timers.tick(1000);
			held.resolve();
			assert.equal(await done, true);
			await folder.settle();
			if (later) assert.equal(await contentOf("a"), "2");
			else assert.deepEqual(await readdir(directory), []);
			await folder.close();
		});

	test("is retried in order, a few at a time, for thousands of records", async (t) => {
		t.mock.timers.enable({ apis: ["setTimeout"] });
		const { state, disk } = failingDisk();
		const problems: string[] = [];
		const { directory, folder, contentOf } = await makeFolder(t, disk, problems);
		state.code = "ENOSPC";
		await Promise.all(Array.from({ length: 100 }, (_, id) => folder.save(`a${id}`, { value: id })));
		assert.equal(problems.length, 8, "only the first are reported");
		state.tries = 0;
		t.mock.timers.tick(1000);
		await waitUntil(() => state.tries >= 8);
		await folder.settle();
		for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
		assert.equal(state.tries, 8);
		state.code = "";
		t.mock.timers.tick(1000);
		void folder.save("a99", { value: 1000 });
		await waitUntil(() => folder.readinessProblem === undefined);
		assert.equal((await readdir(directory)).length, 100);
		assert.equal(await contentOf("a99"), "1000", "a retry does not overwrite a later one");
		await folder.close();
	});

	test("is retried once when the gateway stops", async (t) => {
		let isFirst = true;
		const disk = diskWith((operation) => {
			if (operation !== "create" || !isFirst) return;
			isFirst = false;
			throw systemError("ENOSPC");
		});
		const { folder, contentOf } = await makeFolder(t, disk, []);
		void folder.save("a", { value: 1 });
		await folder.close();
		assert.equal(await contentOf("a"), "1");
	});

	test("of a removal rejects without retry, and keeps the record", async (t) => {
		let removals = 0;
		const disk = diskWith((operation) => {
			if (operation !== "rm") return;
			removals += 1;
			throw systemError("EROFS");
		});
		const { folder, contentOf } = await makeFolder(t, disk, []);
		await folder.save("a", { value: 1 });
		assert.equal(await folder.remove("a"), false);
		await folder.close();
		assert.deepEqual([removals, await contentOf("a")], [1, "1"]);
	});
});
