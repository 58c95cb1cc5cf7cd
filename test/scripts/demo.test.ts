import assert from "node:assert/strict";
import { execSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { DemoReleases, type DemoReleasesOptions } from "../../scripts/demo/releases.js";
import { withVoice } from "../../scripts/demo/voice.js";
import { addRelease, readCatalog } from "../../scripts/release/folder.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { makeReleaseKey } from "../support/signing.js";

async function setUp(t: TestContext, options: Partial<DemoReleasesOptions> = {}) {
	const releasesDir = await temporaryDirectory(t);
	const releases = new DemoReleases({ releasesDir, releaseKeys: [], running: () => [], ...options });
	const versions = async () => (await readCatalog(releasesDir)).releases.map(({ version }) => version);
	const add = async (version: string) => {
		const images = [makeVirtualImage(Buffer.from("a program"), "DEV-1", version)];
		await addRelease(releasesDir, { version, date: "2026-01-02", notes: "", images });
	};
	return { releasesDir, releases, versions, add };
}

test("the next version of the demo is higher than any release and any device's version", async (t) => {
	const running = ["1.0.0"];
	const { releases, add } = await setUp(t, { running: () => running });
	assert.equal(await releases.next(), "1.1.0");
	await add("1.1.0");
	assert.equal(await releases.next(), "1.2.0");
	await add("1.10.3");
	assert.equal(await releases.next(), "1.11.0");
	await add("1.12.0-rc.1");
	assert.equal(await releases.next(), "1.12.0");
	running.push("2.3.0");
	assert.equal(await releases.next(), "2.4.0");
});

test("two simultaneous requests for a release return the same one", async (t) => {
	const { releases, versions } = await setUp(t);
	const asked = [releases.make(), releases.make()];
	assert.equal(asked[0], asked[1], "two would write the same files");
	assert.deepEqual(await Promise.all(asked), ["1.1.0", "1.1.0"]);
	assert.equal(await releases.make(), "1.2.0");
	assert.deepEqual(await versions(), ["1.2.0", "1.1.0"]);
});

test("does not make a release that devices would reject, and explains how to make it", async (t) => {
	const releaseKeys = [makeReleaseKey().publicKey];
	const { releases, versions } = await setUp(t, { releaseKeys });
	await assert.rejects(
		releases.make(),
		/RELEASE_KEYS is set.*npm run release -- 1\.1\.0 --allow-dirty --key/,
	);
	assert.deepEqual(await versions(), []);
});

test("makes the next release after one that failed", async (t) => {
	const { releases, releasesDir } = await setUp(t);
	const catalog = join(releasesDir, "catalog.json");
	await writeFile(catalog, "{");
	await assert.rejects(releases.make(), /Building the release failed: Invalid catalog .*catalog\.json/);
	await writeFile(catalog, '{"schema":1,"latest":null,"releases":[]}');
	assert.equal(await releases.make(), "1.1.0");
});

test("the demo speaks with espeak-ng or say, whichever is installed, unless SPEECH_COMMAND is set", async (t) => {
	const folder = await temporaryDirectory(t);
	const install = (name: string, script: string) =>
		writeFile(join(folder, name), `#!${process.execPath}\n${script}`, { mode: 0o755 });
	assert.deepEqual(withVoice({ PATH: folder }), { PATH: folder }, "without a program");
	// Writes its input to the file that `-o` names, as WAV of macOS.
	await install(
		"say",
		`const { argv } = process, fs = require("fs"); fs.writeFileSync(argv[3], fs.readFileSync(0));`,
	);
	const { SPEECH_COMMAND = "" } = withVoice({ PATH: folder });
	const env = { PATH: `${folder}:${process.env.PATH}` };
	assert.equal(execSync(SPEECH_COMMAND, { env, input: "Dinner", encoding: "utf8" }), "Dinner");
	await install("espeak-ng", "");
	assert.equal(withVoice({ PATH: folder }).SPEECH_COMMAND, "espeak-ng --stdout");
	assert.equal(withVoice({ PATH: folder, SPEECH_COMMAND: "piper" }).SPEECH_COMMAND, "piper");
});
