import assert from "node:assert/strict";
import fs, { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { DeviceStep, Rollout } from "../../../gateway/api/rollout.js";
import { queued } from "../../../gateway/rollouts/device-step.js";
import { apply, firstHead } from "../../../gateway/rollouts/machine.js";
import { parsePlan } from "../../../gateway/rollouts/plan.js";
import { RolloutStore } from "../../../gateway/rollouts/store.js";
import type { Disk } from "../../../gateway/storage/atomic-file.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { countingDisk } from "../firmware/counting-disk.js";

const asked = { firmware: { version: "1.4.0" }, target: { model: "DEV-1" } };
const images = [{ model: "DEV-1" as const, chip: "esp32s3" as const, sha256: "0".repeat(64) }];
const plan = {
	...parsePlan(asked, () => 3, 1000),
	firmware: { version: "1.4.0", source: "release" as const, images },
};
const ids = ["dev-1-000001", "dev-1-000002", "dev-1-000003"];
const created: Rollout = {
	id: "autumn",
	createdAt: 1000,
	asked,
	plan,
	head: firstHead,
	devices: new Map(ids.map((id) => [id, queued(id, 1000)])),
};
const offered: DeviceStep = { ...queued(ids[0] ?? "", 2000), status: "offered", attempts: 1, group: 0 };
const failed: DeviceStep = { ...offered, status: "failed", at: 3000, reason: 'Ein Grund: "größer"\n' };
const change = { head: { ...firstHead, revision: 2, status: "running" as const }, devices: [offered] };

async function open(t: TestContext, disk: Disk = fs, directory?: string) {
	const folder = directory ?? join(await temporaryDirectory(t), "rollouts");
	const problems: string[] = [];
	const store = new RolloutStore({
		directory: folder,
		disk,
		onProblem: (problem) => void problems.push(problem),
	});
	const stepsFile = join(folder, "autumn", "steps.jsonl");
	return { store, problems, directory: folder, stepsFile };
}

describe("the roll-outs on disk", () => {
	test("are as they were stored, with the latest step of each device", async (t) => {
		const { store, directory, stepsFile } = await open(t);
		await store.load();
		assert.ok(await store.create(created));
		const running = apply(created, change);
		assert.ok(await store.append(running, change));
		const over = apply(running, { devices: [failed] });
		assert.ok(await store.append(over, { devices: [failed] }));
		const { store: next, problems } = await open(t, fs, directory);
		assert.deepEqual(await next.load(), [over]);
		assert.deepEqual(problems, []);
		assert.equal((await readFile(stepsFile, "utf8")).split("\n").length, ids.length + 2, "compacted");
		assert.ok(await next.remove("autumn"));
		assert.deepEqual(await next.load(), []);
	});

	test("lose only the last line where that was cut at any byte", async (t) => {
		const { store, directory, stepsFile } = await open(t);
		await store.load();
		await store.create(created);
		const running = apply(created, change);
		await store.append(running, change);
		const before = await readFile(stepsFile);
		await store.append(apply(running, { devices: [failed] }), { devices: [failed] });
		const whole = await readFile(stepsFile);
		for (let length = before.length; length <= whole.length; length++) {
			await writeFile(stepsFile, whole.subarray(0, length));
			const { store: next, problems } = await open(t, fs, directory);
			const [loaded] = await next.load();
			// The line feed at its end is not needed.
			const isWhole = length >= whole.length - 1;
			assert.deepEqual(loaded, isWhole ? apply(running, { devices: [failed] }) : running, `cut at ${length}`);
			assert.equal(problems.length, isWhole || length === before.length ? 0 : 1);
			assert.ok(problems.every((problem) => problem.includes(stepsFile)));
			// What is appended after that stands on a line of its own.
			if (!loaded) throw new Error("it is gone");
			assert.ok(await next.append(apply(loaded, { devices: [offered] }), { devices: [offered] }));
			const [again] = await (await open(t, fs, directory)).store.load();
			assert.deepEqual(again, apply(loaded, { devices: [offered] }));
		}
	});

	test("lose a damaged line in the middle alone, and a damaged plan costs its roll-out alone", async (t) => {
		const { store, directory, stepsFile } = await open(t);
		await store.load();
		await store.create(created);
		await appendFile(stepsFile, `{"device":{"deviceId":"dev-1-000002","status":"exploded"}}\n\0\0\0\n[]\n`);
		await store.append(apply(created, { devices: [failed] }), { devices: [failed] });
		await store.create({ ...created, id: "winter" });
		const winter = join(directory, "winter", "plan.json");
		await writeFile(winter, (await readFile(winter, "utf8")).replace('"rest"', '"most"'));
		await mkdir(join(directory, "half-made"));
		const { store: next, problems } = await open(t, fs, directory);
		assert.deepEqual(await next.load(), [apply(created, { devices: [failed] })]);
		assert.equal(problems.length, 2, problems.join("\n"));
		assert.match(problems.join("\n"), /autumn\/steps\.jsonl has 3 damaged lines/);
		assert.match(problems.join("\n"), /winter is left out.*groups\.1\.size/);
	});

	test("are there or not, but never in part, wherever their creation is cut off", async (t) => {
		let steps = 0;
		const count = await open(
			t,
			countingDisk(() => void steps++),
		);
		await count.store.load();
		await count.store.create(created);
		const total = steps;
		assert.ok(total >= 8, `${total} steps`);
		for (let last = 1; last <= total; last++) {
			steps = 0;
			const die = countingDisk(() => {
				steps += 1;
				if (steps >= last) throw Object.assign(new Error("cut"), { code: "EIO" });
			});
			const { store, directory } = await open(t, die);
			await mkdir(directory);
			const isCreated = await store.create(created);
			const loaded = await (await open(t, fs, directory)).store.load();
			assert.deepEqual(loaded, loaded.length === 0 ? [] : [created], `cut at ${last}`);
			if (isCreated) assert.equal(loaded.length, 1);
		}
	});

	test("are written whole after a write has failed, and the gateway is not ready meanwhile", async (t) => {
		let isFull = false;
		const disk = countingDisk((_number, operation) => {
			if (isFull && operation === "write") throw Object.assign(new Error("full"), { code: "ENOSPC" });
		});
		const { store, directory, problems } = await open(t, disk);
		await store.load();
		await store.create(created);
		isFull = true;
		const running = apply(created, change);
		assert.equal(await store.append(running, change), false);
		assert.equal(await store.append(running, change), false);
		assert.match(store.readinessProblem ?? "", /ENOSPC/);
		assert.equal(problems.length, 1, "reported once");
		isFull = false;
		assert.equal(await store.append(running, change), true);
		assert.equal(store.readinessProblem, undefined);
		assert.deepEqual(await (await open(t, fs, directory)).store.load(), [running]);
	});
});
