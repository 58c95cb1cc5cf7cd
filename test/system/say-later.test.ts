/** `npm run say` at a later time, through a gateway to a device in XS. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { SoundList } from "../../gateway/api/announcement.js";
import type { ScheduleList } from "../../gateway/api/schedule.js";
import { call } from "../support/call.js";
import { runCommand } from "../support/command-line.js";
import { eventually } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { bearer, monitorToken, temporaryDirectory } from "../support/running.js";
import { bytesPerSecond, capture, noise, wav } from "../support/sounds.js";

test("npm run say schedules a file, lists it and cancels it", async (t) => {
	const fleet = await runFleet(t, undefined, { limits: { scheduleSettleMs: 0 } });
	const samples = noise(bytesPerSecond);
	const file = join(await temporaryDirectory(t), "pizza.wav");
	await writeFile(file, wav(samples));
	const { device, report } = await fleet.powerOn("DEV-1", { serial: "a1b2c3" });
	await report();
	const captured = capture(device.board);
	const say = async (...words: readonly string[]) => {
		const env = { MONITOR_TOKEN: monitorToken };
		const command = runCommand(t, "scripts/say.ts", ["--gateway", fleet.url, ...words], env);
		const code = await command.exitCode;
		return { code, output: command.output() };
	};

	const soon = await say("--in", "1s", "--chime", "--all", file);
	assert.equal(soon.code, 0, soon.output);
	assert.match(soon.output, /^[\w-]+ {2}sound \w+, Timer: 1 s, All devices, [01] s left$/m);
	await eventually(
		() => captured().includes(samples),
		(isPlayed) => isPlayed,
	);
	assert.ok(captured().indexOf(samples) > bytesPerSecond / 2, "a chime came first");

	const nowhere = await say("--tags", "beta", file);
	assert.deepEqual(
		[nowhere.code, /No device has the tags beta; there is no tag\./.test(nowhere.output)],
		[1, true],
	);
	assert.match(
		(await say("--tags", "beta", "--all", file)).output,
		/one of --all, --room, --tags and --device/,
	);
	const label = { method: "PATCH", headers: bearer(monitorToken), body: '{"tags":["beta","shop"]}' };
	await fetch(`${fleet.url}/api/devices/dev-1-020000a1b2c3`, label);
	const tagged = await say("--tags", "shop and (beta or test)", file);
	assert.equal(tagged.code, 0, tagged.output);
	const tomorrow = await say("--in", "48h", "--tags", "shop and not test", file);
	assert.match(tomorrow.output, /, Timer: 2 d 0 h, Devices with shop and not test, at /);

	const later = await say("--at", "2037-11-28T07:30", "--device", "dev-1-020000a1b2c3", file);
	assert.equal(later.code, 0, later.output);
	const [, id = ""] = /Cancel it with npm run say -- --cancel ([\w-]+)/.exec(later.output) ?? [];
	const listed = new RegExp(`^${id} {2}sound \\w+, Sat 28 Nov 07:30, dev-1-020000a1b2c3$`, "m");
	const times = await say("--times");
	assert.match(times.output, listed);
	assert.match(times.output, /, Finished, Played at \d\d:\d\d$/m);
	assert.match(times.output, /^Time zone: \S+\.$/m);
	assert.deepEqual(await say("--cancel", id), { code: 0, output: `Canceled ${id}.\n` });
	assert.doesNotMatch((await say("--times")).output, listed);
	const sounds = async () => (await call<SoundList>(fleet.url, "GET", "sounds")).sounds;
	assert.equal((await sounds()).length, 1);
	const { schedules } = await call<ScheduleList>(fleet.url, "GET", "schedules");
	for (const each of schedules) await call(fleet.url, "DELETE", `schedules/${each.id}`);
	assert.deepEqual(await sounds(), []);
	const again = await say("--cancel", id);
	assert.equal(again.code, 1);
	assert.match(again.output, new RegExp(id));
});
