import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Fit } from "../../../gateway/firmware/image.js";
import type { DeviceFit } from "../../../gateway/firmware/selection.js";
import { type FirmwareServer, runFirmwareServer } from "../../support/firmware-server.js";
import { makeImage } from "../../support/images.js";
import { imagePath, writeReleases } from "../../support/releases.js";

const s3 = { model: "DEV-1", chip: "esp32s3" } as const;
const esp32 = { model: "DEV-1", chip: "esp32" } as const;
const virtual = { model: "DEV-1", chip: "virtual" } as const;
const proto = { model: "PROTO-1", chip: "esp32s3" } as const;

/** Releases 1.4.0 (latest), 1.3.0 and 1.5.0-rc.1; 1.4.0 has images for all chips but the ESP32. */
async function serveReleases(t: TestContext): Promise<FirmwareServer> {
	const serving = await runFirmwareServer(t);
	await writeReleases(serving.releasesDir, [
		{ version: "1.4.0", ...virtual },
		{ version: "1.4.0", ...s3 },
		{ version: "1.4.0", ...proto },
		{ version: "1.3.0", ...esp32 },
		{ version: "1.3.0", model: "PROTO-1", chip: "virtual" },
		{ version: "1.5.0-rc.1", ...virtual },
		{ version: "1.5.0-rc.1", ...esp32 },
		{ version: "1.5.0-rc.1", ...s3 },
		{ version: "1.2.0+build.7", ...s3 },
	]);
	return serving;
}

async function outcome({ selection }: FirmwareServer, device: Fit, version?: string) {
	const choice = await selection.choose(device, version);
	if (choice.rejection) return `${choice.rejection.code}: ${choice.rejection.message}`;
	const [, path, sha256] = /^(.*)[?&]sha256=(\w+)$/.exec(choice.path) ?? [];
	assert.equal(sha256, choice.sha256, "the address names another image");
	return `${choice.version} ${path}`;
}

describe("selection of a release", () => {
	test("finds the image of the version for model and chip of the device", async (t) => {
		const serving = await serveReleases(t);
		for (const [device, version, expected] of [
			[s3, "latest", "1.4.0 ?model=dev-1&chip=esp32s3"],
			[virtual, "latest", "1.4.0 ?model=dev-1&chip=virtual"],
			[proto, "latest", "1.4.0 ?model=proto-1&chip=esp32s3"],
			[s3, undefined, "1.4.0 ?model=dev-1&chip=esp32s3"],
			[s3, "v1.4.0", "1.4.0 ?model=dev-1&chip=esp32s3"],
			[s3, " 1.4.0 ", "1.4.0 ?model=dev-1&chip=esp32s3"],
			[esp32, "1.3.0", "1.3.0 ?model=dev-1&chip=esp32"],
			[esp32, "1.5.0-rc.1", "1.5.0-rc.1 ?model=dev-1&chip=esp32"],
			[{ model: "DEV-1" }, "1.5.0-rc.1", "1.5.0-rc.1 ?model=dev-1&chip=esp32s3"],
			[s3, "1.2.0+build.7", "1.2.0+build.7 ?model=dev-1&chip=esp32s3"],
			[{ chip: "esp32" }, "1.3.0", "1.3.0 ?model=dev-1&chip=esp32"],
		] as const satisfies readonly (readonly [Fit, string | undefined, string])[]) {
			const [found, query] = expected.split(" ");
			const path = `${found} /releases/firmware-v${found}.bin${query}`;
			assert.equal(await outcome(serving, device, version), path, JSON.stringify([device, version]));
		}
	});
	test("is rejected without such a version or image", async (t) => {
		const serving = await serveReleases(t);
		for (const [device, version, expected] of [
			[
				s3,
				"1.6.0",
				/^unknown_version: Release "1\.6\.0" not found\. Latest releases: 1\.5\.0-rc\.1, 1\.4\.0, 1\.3\.0, 1\.2\.0/,
			],
			// The only image is for virtual devices, which always name their chip.
			[{ model: "PROTO-1" }, "1.3.0", /^incompatible_firmware: Release 1\.3\.0 has no image for/],
			[s3, "1.4", /^unknown_version/],
			[s3, "1.2.0", /^unknown_version/],
			[s3, "", /^unknown_version/],
			[s3, "Latest", /^unknown_version/],
			[s3, "../1.4.0", /^unknown_version/],
			[esp32, "latest", /^incompatible_firmware: Release 1\.4\.0 has no image for DEV-1 \(esp32\)\.$/],
			[{ chip: "esp32s3" }, "latest", /^incompatible_firmware: The model of the device is unknown\. Wait/],
			[s3, "custom", /^no_firmware: No firmware has been uploaded/],
			[esp32, undefined, /^no_firmware: No release for DEV-1 \(esp32\) and no uploaded firmware found/],
		] as const satisfies readonly (readonly [Fit, string | undefined, RegExp])[])
			assert.match(await outcome(serving, device, version), expected);
	});
	test("rejects a release with a missing or changed file with a reason", async (t) => {
		const serving = await serveReleases(t);
		const file = join(serving.directory, imagePath({ version: "1.4.0", ...s3 }));
		await writeFile(file, makeImage({ version: "1.4.1" }));
		const changed = /^no_firmware: The file .*v1\.4\.0\.bin does not match the/;
		for (const version of ["latest", undefined]) assert.match(await outcome(serving, s3, version), changed);
		await rm(file);
		const missing = /^no_firmware: .* is missing\. Build release 1\.4\.0 again\.$/;
		assert.match(await outcome(serving, s3, "1.4.0"), missing);
	});
	test("rejects a catalog without releases", async (t) => {
		const serving = await runFirmwareServer(t);
		assert.match(await outcome(serving, s3, "latest"), /^no_firmware: The catalog has no latest release/);
		assert.match(await outcome(serving, s3, undefined), /^no_firmware: /);
		assert.match(await outcome(serving, s3, "1.0.0"), /^no_firmware: .*The catalog is empty\.$/);
		await writeReleases(serving.releasesDir, [{ version: "1.0.0-rc.1", ...s3 }], null);
		assert.match(await outcome(serving, s3, "latest"), /^no_firmware/);
		assert.match(await outcome(serving, s3, "1.0.0-rc.1"), /^1\.0\.0-rc\.1 /);
	});
});

test("pins the highest version of a channel, and offers only the latest stable one", async (t) => {
	const serving = await runFirmwareServer(t);
	const { selection, releasesDir } = serving;
	const channels = { "1.9.0": "beta", "1.10.0": "beta", "2.0.0-rc.1": undefined, "1.4.0": undefined };
	const releases = Object.entries(channels).map(([version, channel]) => ({
		version,
		...s3,
		...(channel !== undefined && { channel }),
	}));
	await writeReleases(releasesDir, releases, "1.4.0");
	for (const [asked, version] of [
		[{ channel: "beta" }, "1.10.0"],
		[{ channel: "stable" }, "1.4.0"],
		[{ channel: "beta", version: "1.9.0" }, "1.10.0"],
		[{ channel: undefined, version: "latest" }, "1.4.0"],
	] as const) {
		const pinned = await selection.pin(asked);
		assert.ok(!("rejection" in pinned), `rejected: ${JSON.stringify(pinned)}`);
		assert.deepEqual([pinned.version, pinned.channel, pinned.images.length], [version, asked.channel, 1]);
	}
	assert.match(await outcome(serving, s3), /^1\.4\.0 /);
	const none = await selection.pin({ channel: "nightly" });
	assert.ok("rejection" in none, `pinned: ${JSON.stringify(none)}`);
	assert.match(none.rejection.message, /^The channel "nightly" has no release\. .*: beta, stable\.$/);
});

describe("selection of a patch", () => {
	const version = "1.4.0";
	const fits = [s3, proto, virtual];
	/** Releases 1.3.0 and 1.4.0, with patches from 1.3.0 to 1.4.0. */
	async function servePatches(t: TestContext) {
		const serving = await runFirmwareServer(t);
		for (const released of ["1.3.0", version]) {
			const images = fits.map((fit) => makeImage({ version: released, ...fit }));
			await serving.release(released, images);
		}
		const { releases } = await serving.catalog.read();
		const imageOf = (wanted: string, { model, chip }: Fit) =>
			releases
				.find((release) => release.version === wanted)
				?.images.find((image) => image.model === model && image.chip === chip);
		const patchFor = async (device: DeviceFit, asked = "latest") => {
			const choice = await serving.selection.choose(device, asked);
			assert.equal(choice.rejection, undefined);
			return choice.patch;
		};
		const file = join(serving.directory, imagePath({ version, ...s3 }).replace(".bin", ".from-v1.3.0.patch"));
		return { ...serving, imageOf, patchFor, file };
	}

	test("matches the model, chip and running version of the device", async (t) => {
		const { imageOf, patchFor, problems } = await servePatches(t);
		for (const fit of fits)
			for (const asked of ["latest", version]) {
				const patch = await patchFor({ ...fit, patchable: "1.3.0" }, asked);
				const path = imagePath({ version, ...fit }).replace(".bin", ".from-v1.3.0.patch");
				assert.deepEqual(patch, {
					path,
					from: imageOf("1.3.0", fit)?.sha256,
					to: imageOf(version, fit)?.sha256,
				});
			}
		assert.deepEqual(problems, []);
	});
	test("finds none for an unknown model, chip or version, for another version or for the upload", async (t) => {
		const { patchFor, release, upload } = await servePatches(t);
		await release("1.5.0", [makeImage({ version: "1.5.0" })]);
		await upload(makeImage({ version: "1.5.0" }));
		for (const [device, asked] of [
			[{ ...s3, patchable: null }, version],
			[s3, version],
			[{ ...s3, patchable: "1.2.0" }, version],
			[{ ...s3, patchable: version }, "1.3.0"],
			[{ model: "DEV-1", patchable: "1.3.0" }, version],
			// The release has images for one model only.
			[{ chip: "esp32s3", patchable: version }, "1.5.0"],
			[{ ...s3, patchable: "1.3.0" }, "custom"],
		] as const satisfies readonly (readonly [DeviceFit, string])[])
			assert.equal(await patchFor(device, asked), undefined, JSON.stringify([device, asked]));
		assert.notEqual(await patchFor({ ...s3, patchable: version }, "1.5.0"), undefined);
	});
	test("finds none while its file is missing, damaged or unreadable, reported once", async (t) => {
		const { patchFor, problems, file } = await servePatches(t);
		const good = await readFile(file);
		const device = { ...s3, patchable: "1.3.0" };
		const full = /\. Devices that run 1\.3\.0 download the full image\.$/;
		for (const [spoil, reason] of [
			[() => {}, /\.patch is missing\. Build release 1\.4\.0 again/],
			[() => writeFile(file, good.subarray(1)), /\.patch does not match the catalog\. Build release/],
			[() => writeFile(file, good.subarray(1)), /\.patch does not match the catalog\. Build release/],
			[() => mkdir(file), /\.patch cannot be read \(EISDIR\)/],
		] as const) {
			await rm(file, { force: true });
			await spoil();
			for (let times = 0; times < 3; times++) assert.equal(await patchFor(device), undefined);
			assert.match(String(problems), reason);
			assert.match(String(problems), full);
			assert.equal(problems.splice(0).length, 1);
			await rm(file, { recursive: true, force: true });
			await writeFile(file, good);
			assert.equal((await patchFor(device))?.path, "/releases/dev-1/firmware-v1.4.0.from-v1.3.0.patch");
			assert.deepEqual(problems, []);
		}
	});
});

describe("selection of the upload", () => {
	const custom = "1.4.0 /ota/firmware.bin";

	test("offers the upload if its model and chip match, but none for QEMU to a board, nor the other way round", async (t) => {
		const serving = await runFirmwareServer(t);
		const qemu = { model: "DEV-1", chip: "esp32s3-qemu" } as const;
		const unknown = [{ model: "DEV-1" }, { chip: "esp32s3" }, {}] as const;
		for (const [image, fitting, others] of [
			[s3, [s3, ...unknown], [esp32, virtual, proto, qemu]],
			[qemu, [qemu], [s3, ...unknown]],
		] as const) {
			await serving.upload(makeImage(image));
			for (const device of fitting) assert.equal(await outcome(serving, device, "custom"), custom);
			const reason = `incompatible_firmware: The uploaded firmware is for DEV-1 (${image.chip}), but the device is `;
			for (const device of others)
				assert.ok((await outcome(serving, device, "custom")).startsWith(reason), JSON.stringify(device));
		}
	});
	test("prefers the latest release with a matching image if no version is requested", async (t) => {
		const serving = await serveReleases(t);
		await serving.upload(makeImage({ version: "9.0.0", ...esp32 }));
		const latest = "1.4.0 /releases/firmware-v1.4.0.bin?model=dev-1&chip=esp32s3";
		assert.equal(await outcome(serving, s3, undefined), latest);
		assert.equal(await outcome(serving, esp32, undefined), "9.0.0 /ota/firmware.bin");
		const other = { model: "PROTO-1", chip: "esp32" } as const;
		assert.match(await outcome(serving, other, undefined), /^incompatible_firmware/);
	});
	test("offers an unchecked upload with an unknown version to any device", async (t) => {
		const serving = await runFirmwareServer(t, { checkImages: false });
		await serving.upload(Buffer.from("anything"));
		for (const device of [s3, virtual, proto])
			assert.equal(await outcome(serving, device, "custom"), "null /ota/firmware.bin");
	});
});
