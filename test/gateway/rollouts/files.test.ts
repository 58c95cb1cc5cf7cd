import assert from "node:assert/strict";
import fs, { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { DeviceStep } from "../../../gateway/api/rollout.js";
import { queued } from "../../../gateway/rollouts/device-step.js";
import { apply, updateHead } from "../../../gateway/rollouts/machine.js";
import { RolloutStore } from "../../../gateway/rollouts/store.js";
import type { Disk } from "../../../gateway/storage/atomic-file.js";
import { FileLog } from "../../../gateway/storage/file-log.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { changingDisk, systemError } from "../../support/disk.js";
import { sampleRollout } from "./sample-rollout.js";

const [id, ...others] = ["dev-1-000001", "dev-1-000002", "dev-1-000003"] as const;
const created = sampleRollout([id, ...others]);
const offered: DeviceStep = { ...queued(id, 2000), status: "offered", attempts: 1, group: 0 };
const failed: DeviceStep = { ...offered, status: "failed", at: 3000, reason: 'Ein Grund: "größer"\n' };
const change = { head: updateHead(created.head, { status: "running" }), devices: [offered] };

/** Store of a gateway, with its folder. */
async function open(t: TestContext, disk: Disk = fs, existing?: string) {
	const directory = existing ?? join(await temporaryDirectory(t), "rollouts");
	const problems: string[] = [];
	const onProblem = (problem: string) => void problems.push(problem);
	const store = new RolloutStore({ onProblem });
	await store.open(new FileLog({ directory, disk, onProblem }));
	return { store, problems, directory, file: join(directory, "autumn.jsonl") };
}

describe("stored rollouts", () => {
	test("are read back unchanged, with the latest step of each device", async (t) => {
		const { store, directory, file } = await open(t);
		assert.equal(await store.create(created), true);
		const running = apply(created, change);
		assert.equal(await store.append("autumn", change), true);
		const over = apply(running, { devices: [failed] });
		assert.equal(await store.append("autumn", { devices: [failed] }), true);
		const { store: next, problems } = await open(t, fs, directory);
		assert.deepEqual(next.list(), [over]);
		assert.deepEqual(problems, []);
		const text = await readFile(file, "utf8");
		assert.equal(text.match(/"deviceId":"dev-1-000001"/g)?.length, 1, "only its latest step");
	});

	test("leave no file when removed, even if interrupted", async (t) => {
		const { store, directory, file } = await open(t);
		for (const id of ["autumn", "winter"]) {
			assert.equal(await store.create({ ...created, id }), true);
			assert.equal(await store.remove(id), true);
		}
		assert.deepEqual(store.list(), []);
		assert.deepEqual(await readdir(directory), []);
		assert.ok(await store.create(created), "its id is free");
		await appendFile(file, `[1000,${JSON.stringify({ removed: true })}]\n`);
		const { store: next } = await open(t, fs, directory);
		assert.deepEqual(next.list(), []);
		assert.deepEqual(await readdir(directory), []);
		assert.equal(await next.create(created), true);
		assert.deepEqual((await open(t, fs, directory)).store.list(), [created]);
	});

	test("lose only a damaged line, or only a rollout with a damaged plan", async (t) => {
		const { store, directory, file } = await open(t);
		await store.create(created);
		await appendFile(file, `{"device":{"deviceId":"dev-1-000002","status":"exploded"}}\n\0\0\0\n[]\n`);
		await store.append("autumn", { devices: [failed] });
		await store.create({ ...created, id: "winter" });
		const winter = join(directory, "winter.jsonl");
		await writeFile(winter, (await readFile(winter, "utf8")).replace('"rest"', '"most"'));
		const { store: next, problems } = await open(t, fs, directory);
		assert.deepEqual(next.list(), [apply(created, { devices: [failed] })]);
		assert.equal(problems.length, 2, problems.join("\n"));
		assert.match(problems.join("\n"), /autumn\.jsonl has 3 damaged lines/);
		assert.match(problems.join("\n"), /rollout winter, whose plan is damaged.*groups\.0\.size/);
	});

	test("are created completely or not at all", async (t) => {
		let steps = 0;
		const counting = changingDisk(() => void steps++);
		await (await open(t, counting)).store.create(created);
		const total = steps;
		assert.ok(total >= 8, `${total} steps`);
		for (let last = 1; last <= total; last++) {
			steps = 0;
			const die = changingDisk(() => {
				steps += 1;
				if (steps >= last) throw systemError("EIO");
			});
			const { store, directory } = await open(t, die);
			const isCreated = await store.create(created);
			const loaded = await (await open(t, fs, directory)).store.list();
			assert.deepEqual(loaded, loaded.length === 0 ? [] : [created], `cut at ${last}`);
			if (isCreated) assert.equal(loaded.length, 1);
			if (loaded.length > 0) continue;
			const { store: next } = await open(t, fs, directory);
			assert.ok(await next.create(created), `cut at ${last}`);
			assert.deepEqual((await open(t, fs, directory)).store.list(), [created]);
		}
	});
});
