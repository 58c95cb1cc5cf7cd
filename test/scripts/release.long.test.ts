import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Flash } from "../../hosts/virtual/node/boot/flash.js";
import { imageState, readEntries } from "../../hosts/virtual/node/boot/ota-data.js";
import { flashBytes } from "../../hosts/virtual/node/boot/partitions.js";
import { readCatalog } from "../../scripts/release/folder.js";
import { runCommand } from "../support/command-line.js";
import { Client, temporaryDirectory } from "../support/running.js";

/** Environment without a board SDK, so that tests build no board. */
const withoutSdk = { MODDABLE: "/nowhere" };

function runRelease(t: TestContext, releasesDir: string, ...args: readonly string[]) {
	return runCommand(t, "scripts/release.ts", args, { ...withoutSdk, RELEASES_DIR: releasesDir });
}

describe("npm run release", () => {
	test("makes images for both models, and prints what it made and what was missing", async (t) => {
		const folder = await temporaryDirectory(t);
		const startedAt = Math.floor(Date.now() / 1000);
		const command = runRelease(t, folder, "1.4.0", "--allow-dirty", "--notes", "Louder.");
		assert.equal(await command.exitCode, 0, command.output());
		assert.match(command.output(), /Skipping images for boards and QEMU: MODDABLE is \/nowhere/);
		assert.match(command.output(), /Added release 1\.4\.0 to .*\. Latest release: 1\.4\.0\./);
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
		const again = runRelease(t, folder, "1.4.0", "--allow-dirty");
		assert.equal(await again.exitCode, 1);
		assert.equal(again.output(), "release 1.4.0 exists already; use a new version\n");
		await rm(join(folder, "virtual/proto-1/firmware-v1.4.0.bin"));
		const next = runRelease(t, folder, "1.4.1", "--allow-dirty");
		assert.equal(await next.exitCode, 0, next.output());
		assert.match(
			next.output(),
			/^Skipped the patch of \S+\/proto-1\/firmware-v1\.4\.1\.bin from 1\.4\.0: \S+ is missing\.$/m,
		);
		assert.match(
			next.output(),
			/^DEV-1 \(virtual\) .+\n {2}patch from 1\.4\.0: \d+ bytes \(0\.\d %\)\nPROTO/m,
		);
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
			const command = runCommand(t, "scripts/release.ts", ["1.0.0"], env);
			assert.equal(await command.exitCode, 1);
			assert.match(command.output(), reason);
		}
		assert.deepEqual(await readdir(folder), ["git"]);
	});

	test("prints its usage without a version", async (t) => {
		const folder = await temporaryDirectory(t);
		for (const args of [[], ["1.0.0", "2.0.0"], ["1.0.0", "--force"]]) {
			const command = runRelease(t, folder, ...args);
			assert.equal(await command.exitCode, 1);
			assert.match(command.output(), /npm run release -- <version>/);
		}
		assert.deepEqual(await readdir(folder), []);
	});

	test("updates a running demo's devices, and a restarted demo keeps the version", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const env = { PORT: "0", DATA_DIR: dataDir, RELEASES_DIR: join(dataDir, "releases") };
		const demo = runCommand(t, "scripts/demo.ts", [], env);
		await demo.printed(/Press Ctrl-C to stop/);
		const monitor = await openMonitor(demo.output());
		assert.equal(await runRelease(t, env.RELEASES_DIR, "1.1.0", "--allow-dirty").exitCode, 0);
		const { sessions } = await monitor.until(({ sessions: all }) => all?.length === 2);
		for (const { deviceId } of sessions) {
			const answer = await monitor.request({ type: "trigger_ota", targetId: deviceId });
			assert.equal(answer.type, "ack", JSON.stringify(answer));
			await monitor.until(
				({ type, sessions: all }) =>
					type === "status_update" &&
					all.some((one) => one.deviceId === deviceId && one.metadata.otaStatus === "updated"),
			);
		}
		assert.match(demo.output(), /^dev-1-020000[0-9a-f]{6} starts 1\.1\.0 for the first time$/m);
		for (const { deviceId } of sessions)
			await isConfirmed(join(dataDir, "virtual", `${deviceId}`, "flash.bin"));
		demo.process.kill("SIGINT");
		assert.equal(await demo.exitCode, 0);

		const second = runCommand(t, "scripts/demo.ts", [], env);
		await second.printed(/Press Ctrl-C to stop/);
		const later = await openMonitor(second.output());
		const versions = new Set<string | null>();
		const isNamed = new Set<string>();
		while (isNamed.size < 2) {
			const { sessions: all = [] } = await later.next();
			for (const { sessionId, connected, firmwareVersion } of all)
				if (connected && firmwareVersion !== null) {
					isNamed.add(sessionId);
					versions.add(firmwareVersion);
				}
		}
		assert.deepEqual([...versions], ["1.1.0"]);
		second.process.kill("SIGINT");
		assert.equal(await second.exitCode, 0);
	});
});

/** Resolves once the device has confirmed its new image. It reports before, and would roll back if it ended then. */
async function isConfirmed(flashFile: string): Promise<void> {
	for (let isPending = true; isPending; await setTimeout(20)) {
		const flash = new Flash({ byteLength: flashBytes, file: flashFile });
		isPending = readEntries(flash).some(({ state }) => state === imageState.pendingVerify);
		flash.close();
	}
}

async function openMonitor(output: string): Promise<Client> {
	const loginUrl = /Dashboard\s+(\S+)/.exec(output)?.[1] ?? "";
	const { origin } = new URL(loginUrl);
	const login = await fetch(loginUrl, { method: "POST", redirect: "manual" });
	const cookie = login.headers.getSetCookie()[0]?.split(";")[0] ?? "";
	return new Client(`${origin.replace("http", "ws")}/monitor`, { headers: { cookie, origin } });
}
