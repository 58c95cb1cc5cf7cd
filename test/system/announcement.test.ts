/** `npm run say` through a gateway to devices in XS. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { runCommand } from "../support/command-line.js";
import { eventually } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { monitorToken, temporaryDirectory } from "../support/running.js";
import { bytesPerSecond, capture, noise, wav } from "../support/sounds.js";

test("npm run say plays a file on all devices from the first sample to the last, reports it, and leaves nothing behind", async (t) => {
	const fleet = await runFleet(t);
	const samples = noise(bytesPerSecond);
	const file = join(await temporaryDirectory(t), "dinner.wav");
	await writeFile(file, wav(samples));
	const captures = new Map<string, () => Buffer>();
	for (const serial of ["a1b2c3", "d4e5f6"]) {
		const { device, deviceId, report } = await fleet.powerOn("DEV-1", { serial });
		await report();
		captures.set(deviceId, capture(device.board));
	}
	const env = { MONITOR_TOKEN: monitorToken };
	const say = runCommand(t, "scripts/say.ts", ["--all", "--gateway", fleet.url, file], env);
	assert.equal(await say.exitCode, 0, say.output());
	for (const [id, captured] of captures) {
		const line =
			say
				.output()
				.split("\n")
				.findLast((each) => each.startsWith(id)) ?? "";
		assert.match(line, / {2}played, 1\.0 s/);
		// A busy computer may cause a gap, which the device counts. The last samples leave the output after the
		// response.
		if (!line.includes("waited")) await eventually(() => captured().includes(samples), Boolean);
	}
	const headers = { Authorization: `Bearer ${monitorToken}` };
	assert.deepEqual(await (await fetch(`${fleet.url}/api/sounds`, { headers })).json(), {
		sounds: [],
		canSpeak: false,
	});

	const post = async (path: string, body: Buffer | object) => {
		const isFile = Buffer.isBuffer(body);
		const type = { "Content-Type": isFile ? "audio/wav" : "application/json" };
		const content = isFile ? Uint8Array.from(body) : JSON.stringify(body);
		const response = await fetch(`${fleet.url}${path}`, {
			method: "POST",
			headers: { ...headers, ...type },
			body: content,
		});
		return String(Object(await response.json()).id);
	};
	const sound = await post("/api/sounds?name=Music", wav(noise(30 * bytesPerSecond)));
	const music = `/api/announcements/${await post("/api/announcements", { sound, targets: { all: true } })}`;
	const urgent = runCommand(t, "scripts/say.ts", ["--all", "--urgent", "--gateway", fleet.url, file], env);
	assert.equal(await urgent.exitCode, 0, urgent.output());
	const interrupted = await (await fetch(`${fleet.url}${music}`, { headers })).json();
	assert.equal(Object(interrupted).endedAt, null, "still running");
	await fetch(`${fleet.url}${music}`, { method: "DELETE", headers });

	const away = runCommand(
		t,
		"scripts/say.ts",
		["--device", "dev-1-000000", "--gateway", fleet.url, file],
		env,
	);
	assert.equal(await away.exitCode, 3, away.output());
	assert.match(away.output(), /^dev-1-000000 {2}away, Unknown device\.$/m);
	const text = runCommand(t, "scripts/say.ts", ["--all", "--gateway", fleet.url, "Dinner is ready"], env);
	assert.equal(await text.exitCode, 1);
	assert.match(text.output(), /requires SPEECH_COMMAND/);
	const other = runCommand(t, "scripts/say.ts", ["--all", "--gateway", fleet.url, "-"], env);
	other.process.stdin?.end(Buffer.from("ID3\x04\0\0\0\0\0\x23TSSE"));
	assert.equal(await other.exitCode, 1);
	assert.match(other.output(), /^Formats other than WAV require DECODE_COMMAND/);
});
