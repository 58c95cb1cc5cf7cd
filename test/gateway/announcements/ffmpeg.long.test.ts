/** Tests of the ffmpeg command in the README as DECODE_COMMAND. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { runCommand } from "../../support/command-line.js";
import { pathOf, whyMissing } from "../../support/programs.js";
import { monitorToken, temporaryDirectory } from "../../support/running.js";
import { run } from "./run.js";

test("decodes mp3, m4a, ogg, flac and WAV, opens no file of a playlist, and works with npm run say", {
	skip: whyMissing("ffmpeg"),
}, async (t) => {
	const readme = readFileSync("gateway/announcements/README.md", "utf8");
	const [, command = ""] = /`(ffmpeg [^`]+)`/.exec(readme) ?? [];
	const { url, call, device } = await run(t, {
		environment: { DECODE_COMMAND: command, PATH: process.env.PATH },
	});
	await device("1");
	const upload = (file: Buffer, type = "audio/mpeg") =>
		call("POST", "/api/sounds?name=Dinner", file, monitorToken, { headers: { "Content-Type": type } });
	const folder = await temporaryDirectory(t);
	for (const [name, seconds, ...words] of [
		// Long enough that the m4a index follows the samples.
		["a.m4a", 30],
		["a.mp3", 2],
		["a.ogg", 2],
		["a.flac", 2],
		["24.wav", 2, "-c:a", "pcm_s24le"],
		["float.wav", 2, "-c:a", "pcm_f32le"],
		["alaw.wav", 2, "-c:a", "pcm_alaw"],
		["44100.wav", 2, "-ar", "44100"],
	] as const) {
		const file = join(folder, name);
		const input = ["-v", "error", "-f", "lavfi", "-i", `sine=440:d=${seconds}`];
		const made = spawnSync(pathOf("ffmpeg"), [...input, ...words, file]);
		assert.equal(made.status, 0, String(made.stderr));
		const { status, body } = await upload(
			await readFile(file),
			name.endsWith(".wav") ? "audio/wav" : undefined,
		);
		assert.equal(status, 201, `${name}: ${JSON.stringify(body)}`);
		assert.ok(Math.abs(body.seconds - seconds) < 0.2, `${name}: ${body.seconds} s`);
	}
	const broken = await upload(Buffer.from("no sound"));
	assert.match(broken.body.detail, /^DECODE_COMMAND .* code \d+: .*Invalid data found/);
	assert.doesNotMatch(broken.body.detail, /\/input/);
	const list = `#EXTM3U\n#EXT-X-TARGETDURATION:30\n#EXTINF:30,\n${join(folder, "a.mp3")}\n#EXT-X-ENDLIST\n`;
	assert.equal((await upload(Buffer.from(list), "audio/mpegurl")).status, 422);
	for (const name of ["a.mp3", "24.wav"]) {
		const words = ["--all", "--gateway", url, join(folder, name)];
		await runCommand(t, "scripts/say.ts", words, { MONITOR_TOKEN: monitorToken }).printed(/playing/);
	}
});
