import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/cable.js";
import { addRelease, type NewRelease, ReleaseRefused, readCatalog } from "../../scripts/release-folder.js";
import { runCommand } from "../command-line.js";
import { damaged, makeImage } from "../gateway/firmware/images.js";
import { Client, temporaryDirectory } from "../gateway/running.js";

const virtual = (version: string) => makeVirtualImage(Buffer.from("a program"), "DEV-1", version);
const release = (version: string, given: Partial<NewRelease> = {}): NewRelease => ({
	version,
	date: "2026-01-02",
	notes: "",
	images: [virtual(version)],
	...given,
});

/** No board is built in a test, whatever this computer has. */
const withoutSdk = { MODDABLE: "/nowhere" };

function runRelease(t: TestContext, releasesDir: string, ...args: readonly string[]) {
	return runCommand(t, "scripts/release.ts", args, { ...withoutSdk, RELEASES_DIR: releasesDir });
}

describe("a release", () => {
	test("lies where the interface says, and the catalog says what the binaries say", async (t) => {
		const folder = await temporaryDirectory(t);
		const board = makeImage({ version: "1.4.0", model: "PROTO-1" });
		const catalog = await addRelease(
			folder,
			release("1.4.0", { notes: "Louder.", images: [virtual("1.4.0"), board] }),
		);
		assert.deepEqual(await readCatalog(folder), catalog);
		assert.equal(catalog.latest, "1.4.0");
		const [entry] = catalog.releases;
		assert.deepEqual(
			entry?.images.map(({ model, chip, path, size, idf_version }) => [model, chip, path, size, idf_version]),
			[
				[
					"DEV-1",
					"virtual",
					"/releases/virtual/dev-1/firmware-v1.4.0.bin",
					virtual("1.4.0").length,
					"XS 13.3 (virtual)",
				],
				["PROTO-1", "esp32s3", "/releases/proto-1/firmware-v1.4.0.bin", board.length, "v6.0"],
			],
		);
		assert.ok((await readFile(join(folder, "proto-1/firmware-v1.4.0.bin"))).equals(board));
	});

	test("can be read by a gateway that runs as another user", async (t) => {
		const folder = await temporaryDirectory(t);
		await addRelease(folder, release("1.4.0"));
		for (const name of ["catalog.json", "virtual/dev-1/firmware-v1.4.0.bin"]) {
			const { mode } = await stat(join(folder, name));
			assert.equal(mode & 0o777, 0o644 & ~process.umask(), name);
		}
	});

	test("is the latest where its version is the highest that is no pre-release", async (t) => {
		const folder = await temporaryDirectory(t);
		const latest = [];
		for (const version of ["1.9.0", "1.10.0-rc.1", "1.10.0", "1.2.0", "2.0.0-beta"])
			latest.push((await addRelease(folder, release(version))).latest);
		assert.deepEqual(latest, ["1.9.0", "1.9.0", "1.10.0", "1.10.0", "1.10.0"]);
	});

	for (const [name, refused, reason] of [
		["of a version that is there", release("1.0.0"), /release 1\.0\.0 is there already/],
		["of a version that differs in its build alone", release("1.0.0+2"), /is there already/],
		["of no semantic version", release("1.0"), /"1\.0" is no semantic version/],
		["of a version with a v", release("v1.1.0", { images: [] }), /is no semantic version/],
		[
			"of an image that says another version",
			release("1.1.0", { images: [virtual("1.2.0")] }),
			/says that it is version 1\.2\.0/,
		],
		[
			"of an image that the gateway refuses",
			release("1.1.0", { images: [damaged(virtual("1.1.0"), 400, "x")] }),
			/the gateway would refuse the image: .*damaged/,
		],
		[
			"of two images for one device",
			release("1.1.0", { images: [virtual("1.1.0"), virtual("1.1.0")] }),
			/two images/,
		],
	] as const)
		test(`${name} is refused, and the folder is as it was`, async (t) => {
			const folder = await temporaryDirectory(t);
			await addRelease(folder, release("1.0.0"));
			const before = await everything(folder);
			await assert.rejects(
				addRelease(folder, refused),
				(error) => error instanceof ReleaseRefused && reason.test(error.message),
			);
			assert.deepEqual(await everything(folder), before);
		});

	test("is refused where the catalog is broken, which is not overwritten", async (t) => {
		const folder = await temporaryDirectory(t);
		await writeFile(join(folder, "catalog.json"), "{ half");
		await assert.rejects(
			addRelease(folder, release("1.0.0")),
			/catalog\.json cannot be read, put it right first/,
		);
		assert.equal(await readFile(join(folder, "catalog.json"), "utf8"), "{ half");
	});
});

describe("npm run release", () => {
	test("makes images for both models, and says what it did and what it lacked", async (t) => {
		const folder = await temporaryDirectory(t);
		const command = runRelease(t, folder, "1.4.0", "--allow-dirty", "--notes", "Louder.");
		assert.equal(await command.exitCode, 0, command.output());
		assert.match(command.output(), /Without images for boards: MODDABLE is \/nowhere/);
		assert.match(command.output(), /Release 1\.4\.0 is in .*; the latest is 1\.4\.0\./);
		const { releases } = await readCatalog(folder);
		assert.deepEqual(
			releases.map(({ version, notes, images }) => [version, notes, images.map(({ model }) => model)]),
			[["1.4.0", "Louder.", ["DEV-1", "PROTO-1"]]],
		);
		const again = runRelease(t, folder, "1.4.0", "--allow-dirty");
		assert.equal(await again.exitCode, 1);
		assert.equal(again.output(), "release 1.4.0 is there already; take a new version\n");
	});

	test("refuses a tree with changes, and one that git does not know, unless told", async (t) => {
		const folder = await temporaryDirectory(t);
		const git = join(folder, "git");
		execFileSync("git", ["init", "--quiet", "--bare", git]);
		for (const [GIT_DIR, reason] of [
			[git, /^there are changes that are not committed; commit them, or --allow-dirty:/],
			[join(folder, "nothing"), /^this is no git checkout/],
		] as const) {
			const env = { ...withoutSdk, RELEASES_DIR: join(folder, "releases"), GIT_DIR, GIT_WORK_TREE: "." };
			const command = runCommand(t, "scripts/release.ts", ["1.0.0"], env);
			assert.equal(await command.exitCode, 1);
			assert.match(command.output(), reason);
		}
		assert.deepEqual(await readdir(folder), ["git"]);
	});

	test("says how it is used where it is not given a version", async (t) => {
		const folder = await temporaryDirectory(t);
		for (const args of [[], ["1.0.0", "2.0.0"], ["1.0.0", "--force"]]) {
			const command = runRelease(t, folder, ...args);
			assert.equal(await command.exitCode, 1);
			assert.match(command.output(), /npm run release -- <version>/);
		}
		assert.deepEqual(await readdir(folder), []);
	});

	test("brings a running demo's devices to the new version, and a restarted demo keeps it", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const env = { PORT: "0", DATA_DIR: dataDir, RELEASES_DIR: join(dataDir, "releases") };
		const demo = runCommand(t, "scripts/demo.ts", [], env);
		await demo.printed(/Ctrl-C ends all of it/);
		const monitor = await openMonitor(demo.output());
		assert.equal(await runRelease(t, env.RELEASES_DIR, "1.1.0", "--allow-dirty").exitCode, 0);
		const { sessions } = await monitor.until(({ sessions: all }) => all?.length === 2);
		for (const { deviceId } of sessions) {
			const answer = await monitor.ask({ type: "trigger_ota", targetId: deviceId });
			assert.equal(answer.type, "ack", JSON.stringify(answer));
			await monitor.until(
				({ type, sessions: all }) =>
					type === "status_update" &&
					all.some((one) => one.deviceId === deviceId && one.metadata.otaStatus === "updated"),
			);
		}
		assert.match(demo.output(), /^dev-1-[0-9a-f]{6} starts 1\.1\.0 for the first time$/m);
		demo.process.kill("SIGINT");
		assert.equal(await demo.exitCode, 0);

		const second = runCommand(t, "scripts/demo.ts", [], env);
		await second.printed(/Ctrl-C ends all of it/);
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

async function openMonitor(output: string): Promise<Client> {
	const loginUrl = /Dashboard\s+(\S+)/.exec(output)?.[1] ?? "";
	const { origin } = new URL(loginUrl);
	const login = await fetch(loginUrl, { redirect: "manual" });
	const cookie = login.headers.getSetCookie()[0]?.split(";")[0] ?? "";
	return new Client(`${origin.replace("http", "ws")}/monitor`, { headers: { cookie, origin } });
}

/** Path and content of each file in a folder. */
async function everything(folder: string): Promise<readonly (readonly [string, string])[]> {
	const names = await readdir(folder, { recursive: true });
	const files = await Promise.all(
		names
			.sort()
			.map(
				async (name): Promise<readonly [string, string]> => [
					name,
					await readFile(join(folder, name), "base64").catch(() => "a folder"),
				],
			),
	);
	return files.filter(([, content]) => content !== "a folder");
}
