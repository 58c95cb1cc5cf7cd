/** `npm run say` through a gateway to a device in XS. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { SoundList } from "../../gateway/api/announcement.js";
import type { ScheduleList } from "../../gateway/api/schedule.js";
import { call } from "../support/call.js";
import { callCommand, runCommand } from "../support/command-line.js";
import { waitUntil } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { monitorToken, temporaryDirectory } from "../support/running.js";
import { bytesPerSecond, capture, noise, wav } from "../support/sounds.js";

const samples = noise(bytesPerSecond);

async function setUp(t: TestContext) {
	const { url, powerOn } = await runFleet(t, undefined, { limits: { scheduleSettleMs: 0 } });
	const file = join(await temporaryDirectory(t), "pizza.wav");
	await writeFile(file, wav(samples));
	const { device, deviceId, report } = await powerOn("DEV-1");
	await report();
	const environment = { MONITOR_TOKEN: monitorToken };
	return {
		url,
		file,
		deviceId,
		captured: capture(device.board),
		start: (...words: readonly string[]) =>
			runCommand(t, "scripts/say.ts", ["--gateway", url, ...words], environment),
		say: (...words: readonly string[]) =>
			callCommand("scripts/say.ts", ["--gateway", url, ...words], environment),
		sounds: async () => (await call<SoundList>(url, "GET", "sounds")).sounds,
	};
}

test("npm run say plays a file from the first sample to the last, reports each device, and leaves nothing behind", async (t) => {
	const { file, deviceId, captured, start, say, sounds } = await setUp(t);
	const { code, output } = await say("--device", deviceId, "--device", "dev-1-000000", file);
	assert.equal(code, 3, output);
	assert.match(output, /^dev-1-000000 {2}away, Unknown device\.$/m);
	const [played = ""] = /^dev-1-02.* {2}played, 1\.0 s.*$/m.exec(output) ?? [];
	assert.notEqual(played, "", output);
	// A busy computer may cause a gap, which the device counts. The last samples leave the output after the response.
	if (!played.includes("buffered")) await waitUntil(() => captured().includes(samples));
	assert.deepEqual(await sounds(), []);
	const other = start("--all", "-");
	other.process.stdin?.end(Buffer.from("ID3\x04\0\0\0\0\0\x23TSSE"));
	assert.equal(await other.exitCode, 1);
	assert.match(other.output(), /^Formats other than WAV require DECODE_COMMAND/);
});

test("npm run say schedules a file, lists it and cancels it", async (t) => {
	const { url, file, deviceId, captured, say, sounds } = await setUp(t);
	const soon = await say("--in", "1s", "--chime", "--all", file);
	assert.equal(soon.code, 0, soon.output);
	assert.match(soon.output, /^[\w-]+ {2}sound \w+, 1 s timer, All devices, 0:0[01] left$/m);
	await waitUntil(() => captured().includes(samples));
	assert.ok(captured().indexOf(samples) > bytesPerSecond / 2, "a chime came first");

	const usage = await say("--tags", "beta", "--all", file);
	assert.match(usage.output, /one of --all, --room, --tags and --device/);
	await call(url, "PATCH", `devices/${deviceId}`, { tags: ["beta", "shop"] });
	const later = await say("--at", "2037-11-28T07:30", "--tags", "shop and not test", file);
	assert.equal(later.code, 0, later.output);
	const [, id = ""] = /Cancel it with npm run say -- --cancel ([\w-]+)/.exec(later.output) ?? [];
	const { output: times } = await say("--times");
	assert.match(
		times,
		new RegExp(`^${id} {2}sound \\w+, Sat 28 Nov 07:30, Devices with shop and not test$`, "m"),
	);
	assert.match(times, /, Finished, Played at \d\d:\d\d$/m);
	assert.match(times, /^Time zone: \S+\.$/m);
	assert.deepEqual(await say("--cancel", id), { code: 0, output: `Canceled ${id}.\n` });
	const { schedules } = await call<ScheduleList>(url, "GET", "schedules");
	assert.ok(!schedules.some((schedule) => schedule.id === id), "still scheduled");
	for (const schedule of schedules) await call(url, "DELETE", `schedules/${schedule.id}`);
	assert.deepEqual(await sounds(), []);
});
