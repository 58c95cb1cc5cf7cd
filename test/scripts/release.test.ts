import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Catalog } from "../../gateway/api/firmware.js";
import { boot } from "../../hosts/virtual/node/boot/boot-loader.js";
import { flashFactoryImage, makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { Flash } from "../../hosts/virtual/node/boot/flash.js";
import { flashBytes } from "../../hosts/virtual/node/boot/partitions.js";
import { addRelease, type NewRelease, readCatalog } from "../../scripts/release/folder.js";
import { buildReleaseImages, makeVirtualImages } from "../../scripts/release/images.js";
import { assertSameBytes, sha256Of } from "../support/bytes.js";
import { fakeSdk } from "../support/fake-sdk.js";
import { damaged, makeImage } from "../support/images.js";
import { applyPatch } from "../support/patches.js";
import { temporaryDirectory } from "../support/running.js";
import { makeReleaseKey } from "../support/signing.js";

const virtual = (version: string) => makeVirtualImage(Buffer.from("a program"), "DEV-1", version);
const release = (version: string, options: Partial<NewRelease> = {}): NewRelease => ({
	version,
	date: "2026-01-02",
	notes: "",
	images: [virtual(version)],
	...options,
});

describe("release", () => {
	test("has the documented paths, and its catalog matches the binaries", async (t) => {
		const folder = await temporaryDirectory(t);
		const board = makeImage({ version: "1.4.0", model: "PROTO-1" });
		const dev1 = makeImage({ version: "1.4.0", model: "DEV-1" });
		const qemu = makeImage({ version: "1.4.0", model: "DEV-1", chip: "esp32s3-qemu" });
		const images = [virtual("1.4.0"), board, dev1, qemu];
		const catalog = await addRelease(folder, release("1.4.0", { notes: "Louder.", images }));
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
					"virtual",
				],
				["PROTO-1", "esp32s3", "/releases/proto-1/firmware-v1.4.0.bin", board.length, "v6.0"],
				["DEV-1", "esp32s3", "/releases/dev-1/firmware-v1.4.0.bin", dev1.length, "v6.0"],
				["DEV-1", "esp32s3-qemu", "/releases/esp32s3-qemu/dev-1/firmware-v1.4.0.bin", qemu.length, "v6.0"],
			],
		);
		assertSameBytes(await readFile(join(folder, "proto-1/firmware-v1.4.0.bin")), board);
		assertSameBytes(await readFile(join(folder, "esp32s3-qemu/dev-1/firmware-v1.4.0.bin")), qemu);
	});

	test("is added beside others at the same time", async (t) => {
		const folder = await temporaryDirectory(t);
		const versions = ["1.2.0", "1.1.0", "1.0.0"];
		await Promise.all(versions.map((version) => addRelease(folder, release(version))));
		const released = (await readCatalog(folder)).releases.map(({ version }) => version);
		assert.deepEqual(released, versions);
	});

	test("may have signed images, identified by all of their bytes", async (t) => {
		const folder = await temporaryDirectory(t);
		const signed = Buffer.concat([makeImage({ version: "1.4.0" }), Buffer.alloc(5000, "signature")]);
		const { releases } = await addRelease(folder, release("1.4.0", { images: [signed] }));
		const [image] = releases[0]?.images ?? [];
		assert.equal(image?.size, signed.length);
		assert.equal(image?.sha256, sha256Of(signed));
	});

	test("of a virtual device can be installed on an empty one, part by part", async (t) => {
		const folder = await temporaryDirectory(t);
		const images = await makeVirtualImages("1.4.0", 0);
		const { releases } = await addRelease(folder, release("1.4.0", { images }));
		const [image] = releases[0]?.images ?? [];
		for (const { path, size, sha256 } of image?.flash ?? []) {
			const bytes = await readFile(join(folder, path.slice("/releases/".length)));
			assert.deepEqual([bytes.length, sha256Of(bytes)], [size, sha256], path);
		}
		const manifest = JSON.parse(
			await readFile(join(folder, "virtual/dev-1/flash-v1.4.0/flash.json"), "utf8"),
		);
		assert.equal(manifest.builds[0].chipFamily, "virtual", "no other tool installs it on a board");
		const installed = new Flash({ byteLength: flashBytes });
		for (const { path, offset } of manifest.builds[0].parts)
			installed.load(offset, await readFile(join(folder, "virtual/dev-1/flash-v1.4.0", path)));
		const flashed = new Flash({ byteLength: flashBytes });
		flashFactoryImage(flashed, Buffer.from(images[0]?.image ?? []));
		assertSameBytes(installed.read(0, flashBytes), flashed.read(0, flashBytes));
		assert.equal(boot(installed).image.version, "1.4.0");
	});

	test("is readable for a gateway that runs as another user", async (t) => {
		const folder = await temporaryDirectory(t);
		await addRelease(folder, release("1.4.0"));
		for (const name of ["catalog.json", "virtual/dev-1/firmware-v1.4.0.bin"]) {
			const { mode } = await stat(join(folder, name));
			assert.equal(mode & 0o777, 0o644 & ~process.umask(), name);
		}
	});

	test("is the latest if its version is the highest that is no pre-release", async (t) => {
		const folder = await temporaryDirectory(t);
		const latest = [];
		for (const version of ["1.9.0", "1.10.0-rc.1", "1.10.0", "1.2.0", "2.0.0-beta"])
			latest.push((await addRelease(folder, release(version))).latest);
		assert.deepEqual(latest, ["1.9.0", "1.9.0", "1.10.0", "1.10.0", "1.10.0"]);
	});

	test("of another channel than stable is not the latest, and its channel is in the catalog", async (t) => {
		const folder = await temporaryDirectory(t);
		const latest = [];
		for (const [version, channel] of [
			["1.9.0", undefined],
			["1.10.0", "beta"],
			["2.0.0-rc.1", "stable"],
			["1.9.1", "stable"],
		] as const)
			latest.push((await addRelease(folder, release(version, { channel }))).latest);
		assert.deepEqual(latest, ["1.9.0", "1.9.0", "1.9.0", "1.9.1"]);
		const { releases } = await readCatalog(folder);
		const channels = releases.map(({ channel }) => channel);
		assert.deepEqual(channels, ["stable", "beta", "stable", undefined]);
	});

	for (const [name, rejected, reason] of [
		["of a channel with capitals", release("1.1.0", { channel: "Beta" }), /"Beta" is no channel: use /],
		["of a version that is there", release("1.0.0"), /release 1\.0\.0 exists already/],
		[
			"of a version that differs in its build alone",
			release("1.0.0+2"),
			/^release 1\.0\.0 exists already, and the build in 1\.0\.0\+2 does not make it newer; use a new version$/,
		],
		[
			"of a version that an image has no room for",
			{ ...release("1.1.0"), version: "1.1.0-a23456789.b23456789.c23456" },
			/ has 32 characters; shorten it to 31, which an image has room for$/,
		],
		["of no semantic version", release("1.0"), /"1\.0" is not a semantic version/],
		["of a version with a v", release("v1.1.0", { images: [] }), /is not a semantic version/],
		[
			"of an image that says another version",
			release("1.1.0", { images: [virtual("1.2.0")] }),
			/is of version 1\.2\.0/,
		],
		[
			"of an image that the gateway rejects",
			release("1.1.0", { images: [damaged(virtual("1.1.0"), 400, "x")] }),
			/the gateway would reject the image: .*damaged/,
		],
		[
			"of an image that mcconfig alone built",
			release("1.1.0", { images: [makeImage({ version: "1.1.0", hasSettings: true })] }),
			/the gateway would reject the image: .*may be compiled in/,
		],
		[
			"of two images for one device",
			release("1.1.0", { images: [virtual("1.1.0"), virtual("1.1.0")] }),
			/two images/,
		],
	] as const)
		test(`${name} is rejected, and the folder is unchanged`, async (t) => {
			const folder = await temporaryDirectory(t);
			await addRelease(folder, release("1.0.0"));
			const before = await everything(folder);
			await assert.rejects(addRelease(folder, rejected), ({ message }: Error) => reason.test(message));
			assert.deepEqual(await everything(folder), before);
		});

	test("is rejected if the catalog is invalid, which is not overwritten", async (t) => {
		const folder = await temporaryDirectory(t);
		await writeFile(join(folder, "catalog.json"), "{ half");
		await assert.rejects(
			addRelease(folder, release("1.0.0")),
			/Invalid catalog .*catalog\.json\. Repair it first/,
		);
		assert.equal(await readFile(join(folder, "catalog.json"), "utf8"), "{ half");
	});
});

describe("patches of a release", () => {
	/** Random bytes by seed. */
	const program = (seed: string, bytes = 20_000) => {
		const blocks = Array.from({ length: bytes / 32 }, (_, at) =>
			createHash("sha256").update(`${seed} ${at}`),
		);
		return Buffer.concat(blocks.map((hash) => hash.digest()));
	};
	const same = program("same");
	const alike = (version: string) =>
		makeVirtualImage(Buffer.concat([same, Buffer.from(version)]), "DEV-1", version);
	const add = (folder: string, version: string, options: Partial<NewRelease> = {}) =>
		addRelease(folder, release(version, { images: [alike(version)], ...options }));
	/** First image of a release. */
	const patchesOf = ({ releases }: Catalog, version: string) =>
		releases.find((release) => release.version === version)?.images[0]?.patches ?? [];
	const onDisk = (folder: string, path: string) => join(folder, path.slice("/releases/".length));

	test("make each image on a device from those of the three previous releases", async (t) => {
		const folder = await temporaryDirectory(t);
		const versions = ["1.0.0", "1.1.0", "1.2.0", "1.10.0"];
		for (const [nth, version] of versions.entries())
			await addRelease(folder, release(version, { images: await makeVirtualImages(version, nth) }));
		const images = await makeVirtualImages("1.11.0", 5, makeReleaseKey("a key").text);
		const { releases } = await addRelease(folder, release("1.11.0", { images }));
		assert.deepEqual(await readCatalog(folder), { schema: 1, latest: "1.11.0", releases });
		for (const { model, path, size, sha256, patches = [] } of releases[0]?.images ?? []) {
			const fromVersions = patches.map((patch) => patch.from_version);
			assert.deepEqual(fromVersions, ["1.10.0", "1.2.0", "1.1.0"]);
			for (const patch of patches) {
				const bytes = await readFile(onDisk(folder, patch.path));
				assert.equal(patch.path, path.replace(".bin", `.from-v${patch.from_version}.patch`));
				assert.deepEqual([patch.size, patch.sha256], [bytes.length, sha256Of(bytes)]);
				assert.ok(bytes.length < size / 100, `${bytes.length} of ${size} bytes`);
				const earlier = releases.find(({ version }) => version === patch.from_version);
				const from = earlier?.images.find((image) => image.model === model);
				assert.equal(patch.from, from?.sha256);
				const running = await readFile(onDisk(folder, from?.path ?? ""));
				const made = applyPatch({ patch: bytes, running, from: patch.from, to: sha256 });
				assert.ok(made.equals(await readFile(onDisk(folder, path))), patch.path);
			}
		}
	});

	test("are made only from lower versions for the same model and chip", async (t) => {
		const folder = await temporaryDirectory(t);
		const image = (version: string, content: Parameters<typeof makeImage>[0] = {}) =>
			makeImage({ version, ...content });
		const others = [image("1.0.0", { chip: "esp32" }), image("1.0.0", { model: "PROTO-1" })];
		await add(folder, "1.0.0", { images: others });
		await add(folder, "1.2.0", { images: [image("1.2.0")] });
		assert.deepEqual(patchesOf(await add(folder, "1.1.0", { images: [image("1.1.0")] }), "1.1.0"), []);
		assert.equal(patchesOf(await add(folder, "1.3.0", { images: [image("1.3.0")] }), "1.3.0").length, 2);
	});

	test("are made from releases of its channel first", async (t) => {
		const folder = await temporaryDirectory(t);
		for (const version of ["1.0.0", "1.1.0", "1.2.0-rc.1", "1.2.0-rc.2", "1.2.0-rc.3"])
			await add(folder, version);
		await add(folder, "1.1.1", { channel: "beta" });
		const sources = async (version: string, channel?: string) =>
			patchesOf(await add(folder, version, { channel }), version).map((patch) => patch.from_version);
		assert.deepEqual(await sources("1.2.0"), ["1.1.0", "1.0.0", "1.2.0-rc.3"]);
		assert.deepEqual(await sources("1.2.1", "beta"), ["1.1.1", "1.2.0", "1.2.0-rc.3"]);
		assert.deepEqual(await sources("1.3.0-rc.1"), ["1.2.0-rc.3", "1.2.0-rc.2", "1.2.0-rc.1"]);
	});

	test("are skipped with a message for images that are missing, changed or unreadable", async (t) => {
		const folder = await temporaryDirectory(t);
		for (const version of ["1.0.0", "1.1.0", "1.2.0"]) await add(folder, version);
		const file = (version: string) => join(folder, `virtual/dev-1/firmware-v${version}.bin`);
		await rm(file("1.0.0"));
		await writeFile(file("1.1.0"), alike("1.1.1"));
		await rm(file("1.2.0"));
		await mkdir(file("1.2.0"));
		const said: string[] = [];
		const catalog = await add(folder, "1.3.0", { onSkipped: (sentence) => said.push(sentence) });
		assert.deepEqual(patchesOf(catalog, "1.3.0"), []);
		const no = "Skipped the patch of /releases/virtual/dev-1/firmware-v1.3.0.bin from";
		const path = (version: string) => `/releases/virtual/dev-1/firmware-v${version}.bin`;
		assert.deepEqual(said, [
			`${no} 1.2.0: ${path("1.2.0")} cannot be read (EISDIR).`,
			`${no} 1.1.0: ${path("1.1.0")} differs from the catalog.`,
			`${no} 1.0.0: ${path("1.0.0")} is missing.`,
		]);
	});

	test("are skipped with a message if they would have half the size of the image or more", async (t) => {
		const folder = await temporaryDirectory(t);
		const image = (version: string, ...parts: readonly Buffer[]) =>
			makeVirtualImage(Buffer.concat(parts), "DEV-1", version);
		const [first, second] = [program("one"), program("other")];
		await add(folder, "1.0.0", { images: [image("1.0.0", first, same, same)] });
		await add(folder, "1.1.0", { images: [image("1.1.0", first, second)] });
		const said: string[] = [];
		const images = [image("1.2.0", same, second, program("new", 4_000))];
		const catalog = await add(folder, "1.2.0", { images, onSkipped: (sentence) => said.push(sentence) });
		assert.deepEqual(patchesOf(catalog, "1.2.0"), []);
		assert.match(
			String(said),
			/from 1\.1\.0: 2\d{4} bytes is too large compared to 4\d{4} bytes of the image\./,
		);
		assert.match(
			String(said),
			/from 1\.0\.0: 2\d{4} bytes is too large compared to 4\d{4} bytes of the image\./,
		);
	});

	test("are deleted with a release that fails", async (t) => {
		const folder = await temporaryDirectory(t);
		for (const version of ["1.0.0", "1.1.0"]) await add(folder, version);
		await mkdir(join(folder, "virtual/dev-1/firmware-v1.2.0.from-v1.0.0.patch"));
		const before = await everything(folder);
		await assert.rejects(add(folder, "1.2.0"), { code: "EISDIR" });
		assert.deepEqual(await everything(folder), before);
	});
});

test("a release built with an SDK has images of both boards", {
	skip: process.platform === "win32" ? "needs a shell" : undefined,
}, async (t) => {
	const version = "1.4.0";
	const made = { "dev-1": makeImage({ version }), "proto-1": makeImage({ version, model: "PROTO-1" }) };
	const { sdk } = fakeSdk({ folder: await temporaryDirectory(t), images: made });
	const buildFolder = await temporaryDirectory(t);
	const options = { sdk, version, releaseKeys: "", onOutput: () => {} };
	const images = await buildReleaseImages(buildFolder, options);
	const releasesDir = await temporaryDirectory(t);
	const { releases } = await addRelease(releasesDir, release(version, { images }));
	assert.deepEqual(
		releases[0]?.images.map(({ model, chip, path }) => `${model} ${chip} ${path}`),
		[
			"DEV-1 esp32s3 /releases/dev-1/firmware-v1.4.0.bin",
			"PROTO-1 esp32s3 /releases/proto-1/firmware-v1.4.0.bin",
		],
	);
	const flashes = releases[0]?.images.map(({ flash }) => flash?.length ?? 0);
	assert.deepEqual(flashes, [4, 4]);
	const manifest = JSON.parse(await readFile(join(releasesDir, "proto-1/flash-v1.4.0/flash.json"), "utf8"));
	assert.deepEqual(manifest, {
		name: "PROTO-1",
		version,
		new_install_prompt_erase: true,
		builds: [
			{
				chipFamily: "ESP32-S3",
				parts: [
					{ path: "bootloader.bin", offset: 0 },
					{ path: "partition-table.bin", offset: 0x8000 },
					{ path: "ota_data_initial.bin", offset: 0x9000 },
					{ path: "../firmware-v1.4.0.bin", offset: 0x20000 },
				],
			},
		],
	});
	for (const name of ["bootloader", "partition-table", "ota_data_initial"])
		assert.equal(
			await readFile(join(releasesDir, "proto-1/flash-v1.4.0", `${name}.bin`), "utf8"),
			`${name}\n`,
		);
	const sdkconfig = join(buildFolder, "sdkconfig", "sdkconfig.defaults");
	assert.match(await readFile(sdkconfig, "utf8"), /^CONFIG_APP_PROJECT_VER="1\.4\.0"$/m);
});

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
