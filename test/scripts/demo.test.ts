import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { makeRelease, nextVersion, type ReleaseOptions } from "../../scripts/demo/releases.js";
import { addRelease, readCatalog } from "../../scripts/release/folder.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { makeReleaseKey } from "../support/signing.js";

async function setUp(t: TestContext, options: Partial<ReleaseOptions> = {}) {
	const releasesDir = await temporaryDirectory(t);
	const releases = { releasesDir, releaseKeys: [], running: () => [], ...options };
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
	assert.equal(await nextVersion(releases), "1.1.0");
	await add("1.1.0");
	assert.equal(await nextVersion(releases), "1.2.0");
	await add("1.10.3");
	assert.equal(await nextVersion(releases), "1.11.0");
	await add("1.12.0-rc.1");
	assert.equal(await nextVersion(releases), "1.12.0");
	running.push("2.3.0");
	assert.equal(await nextVersion(releases), "2.4.0");
});

test("does not make a release that devices would reject, and explains how to make it", async (t) => {
	const releaseKeys = [makeReleaseKey().publicKey];
	const { releases, versions } = await setUp(t, { releaseKeys });
	await assert.rejects(
		makeRelease(releases),
		/RELEASE_KEYS is set.*npm run release -- 1\.1\.0 --allow-dirty --key/,
	);
	assert.deepEqual(await versions(), []);
});

test("makes the next release after one that failed", async (t) => {
	const { releases, releasesDir } = await setUp(t);
	const catalog = join(releasesDir, "catalog.json");
	await writeFile(catalog, "{");
	await assert.rejects(makeRelease(releases), /Building the release failed: Invalid catalog .*catalog\.json/);
	await writeFile(catalog, '{"schema":1,"latest":null,"releases":[]}');
	assert.equal(await makeRelease(releases), "1.1.0");
});
