import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { readCatalog } from "../../scripts/release/folder.js";
import { callCommand } from "../support/command-line.js";
import { temporaryDirectory } from "../support/running.js";

/** Environment without a board SDK, so that tests build no board. */
const withoutSdk = { MODDABLE: "/nowhere" };

const runRelease = (releasesDir: string, ...args: readonly string[]) =>
	callCommand("scripts/release.ts", args, { ...withoutSdk, RELEASES_DIR: releasesDir });

describe("npm run release", () => {
	test("makes images for both models, and prints what it made and what was missing", async (t) => {
		const folder = await temporaryDirectory(t);
		const startedAt = Math.floor(Date.now() / 1000);
		const { code, output } = await runRelease(folder, "1.4.0", "--allow-dirty", "--notes", "Louder.");
		assert.equal(code, 0, output);
		assert.match(output, /Skipping images for boards: MODDABLE is \/nowhere/);
		assert.match(output, /Added release 1\.4\.0 to .*\. Latest release: 1\.4\.0\./);
		const { releases } = await readCatalog(folder);
		assert.deepEqual(
			releases.map(({ version, notes, images }) => [version, notes, images.map(({ model }) => model)]),
			[["1.4.0", "Louder.", ["DEV-1", "PROTO-1"]]],
		);
		for (const { path } of releases[0]?.images ?? []) {
			const image = await readFile(join(folder, path.slice("/releases/".length)));
			const buildTime = image.readUInt32LE(0x15c);
			assert.ok(buildTime >= startedAt && buildTime <= Date.now() / 1000, `${path}: ${buildTime}`);
		}
		assert.match(output, /Not signed \(--key\): devices that run it accept any firmware\./);
		const again = await runRelease(folder, "1.4.0", "--allow-dirty");
		assert.equal(again.code, 1);
		assert.equal(again.output, "release 1.4.0 exists already; use a new version\n");
		await rm(join(folder, "virtual/proto-1/firmware-v1.4.0.bin"));
		const next = await runRelease(folder, "1.4.1", "--allow-dirty");
		assert.equal(next.code, 0, next.output);
		assert.match(
			next.output,
			/^Skipped the patch of \S+\/proto-1\/firmware-v1\.4\.1\.bin from 1\.4\.0: \S+ is missing\.$/m,
		);
		assert.match(next.output, /^DEV-1 \(virtual\) .+\n {2}patch from 1\.4\.0: \d+ bytes \(0\.\d %\)\nPROTO/m);
	});

	test("rejects a modified tree, and one without git, unless an option allows it", async (t) => {
		const folder = await temporaryDirectory(t);
		const git = join(folder, "git");
		execFileSync("git", ["init", "--quiet", "--bare", git]);
		for (const [GIT_DIR, reason] of [
			[git, /^Uncommitted changes\. Commit them, or use --allow-dirty:/],
			[join(folder, "nothing"), /^Not a git checkout/],
		] as const) {
			const env = { ...withoutSdk, RELEASES_DIR: join(folder, "releases"), GIT_DIR, GIT_WORK_TREE: "." };
			const { code, output } = await callCommand("scripts/release.ts", ["1.0.0"], env);
			assert.equal(code, 1);
			assert.match(output, reason);
		}
		assert.deepEqual(await readdir(folder), ["git"]);
	});

	test("prints its usage without a version", async (t) => {
		const folder = await temporaryDirectory(t);
		for (const args of [[], ["1.0.0", "2.0.0"], ["1.0.0", "--force"]]) {
			const { code, output } = await runRelease(folder, ...args);
			assert.equal(code, 1);
			assert.match(output, /npm run release -- <version>/);
		}
		assert.deepEqual(await readdir(folder), []);
	});
});
