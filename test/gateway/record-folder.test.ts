import assert from "node:assert/strict";
import fs, { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { RecordFolder } from "../../gateway/record-folder.js";
import type { Disk } from "../../gateway/whole-file.js";
import { temporaryDirectory } from "../cleanup.js";

async function makeFolder(t: TestContext, disk: Disk = fs) {
	const directory = await temporaryDirectory(t);
	const folder = new RecordFolder<{ value: number }>({
		directory,
		disk,
		what: "values",
		format: (record) => String(record.value),
		parse: (content) => ({ value: Number(content) }),
		onProblem: (problem) => assert.fail(problem),
	});
	const contentOf = (deviceId: string) => readFile(join(directory, `${deviceId}.json`), "utf8");
	return { directory, folder, contentOf };
}

/** A disk that tells of each file that is begun to be written, and waits until that is allowed. */
function slowDisk(onWrite: (path: string) => void | Promise<void>): Disk {
	const open: Disk["open"] = async (path, flags, mode) => {
		if (flags === "wx") await onWrite(String(path));
		return fs.open(path, flags, mode);
	};
	return { ...fs, open };
}

describe("records on disk", () => {
	test("are those of devices: what else a person put among them is left alone", async (t) => {
		const { directory, folder } = await makeFolder(t);
		await folder.save("a", { value: 1 });
		await writeFile(join(directory, "a.json.bak"), "2");
		await writeFile(join(directory, "b"), "3");
		await mkdir(join(directory, "c.json"));
		assert.deepEqual(await folder.load(), new Map([["a", { value: 1 }]]));
		assert.deepEqual((await readdir(directory)).sort(), ["a.json", "a.json.bak", "b", "c.json"]);
	});

	test("show the latest of many changes, each of which is answered once it or a later one is there", async (t) => {
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

	test("are written together while one of them is being written", async (t) => {
		const begun: string[] = [];
		let release = () => {};
		const held = new Promise<void>((resolve) => {
			release = resolve;
		});
		const disk = slowDisk((path) => {
			begun.push(path);
			return held;
		});
		const { folder, contentOf } = await makeFolder(t, disk);
		void folder.save("a", { value: 1 });
		while (begun.length === 0) await Promise.resolve();
		for (const value of [2, 3, 4]) void folder.save("a", { value });
		release();
		await folder.settle();
		assert.deepEqual([begun.length, await contentOf("a")], [2, "4"]);
	});

	test("are written eight at a time at most, and all of them before the folder has settled", async (t) => {
		let writing = 0;
		let most = 0;
		let isSecondWave = false;
		const disk = slowDisk(async () => {
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
});
