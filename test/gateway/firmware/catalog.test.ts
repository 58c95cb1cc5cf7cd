import assert from "node:assert/strict";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { parseCatalog } from "../../../gateway/firmware/catalog.js";
import { diskWith, systemError } from "../../support/disk.js";
import { runFirmwareServer } from "../../support/firmware-server.js";
import { writeCatalog, writeReleases } from "../../support/releases.js";

const image = {
	model: "DEV-1",
	path: "/releases/firmware-v1.4.0.bin",
	size: 5,
	sha256: "0".repeat(64),
	chip: "esp32s3",
	idf_version: "v6.0",
};
const file = { path: "/releases/flash-v1.4.0/bootloader.bin", size: 5, sha256: "0".repeat(64) };
const patchName = "/firmware-v1.4.0.from-v1.3.0.patch";
const patch = {
	path: `/releases${patchName}`,
	size: 5,
	sha256: "0".repeat(64),
	from_version: "1.3.0",
	from: "1".repeat(64),
};
const release = { version: "1.4.0", date: "2026-01-02", notes: "", images: [image] };
const good = { schema: 1, latest: "1.4.0", releases: [release] };

test("a catalog may have unknown fields and patches", () => {
	const catalog = { ...good, made_by: "npm run release", releases: [{ ...release, signed: true }] };
	const { made_by: _, ...parsed } = { made_by: undefined, ...parseCatalog(JSON.stringify(catalog)) };
	assert.deepEqual(parsed, { ...good, releases: [{ ...release, signed: true }] });
	const patches = [patch, { ...patch, path: patch.path.replace("1.3", "1.2"), from_version: "1.2.0" }];
	assert.deepEqual(parseCatalog(JSON.stringify(withImage({ patches }))), withImage({ patches }));
});

test("rejects an invalid catalog with a reason", () => {
	for (const [catalog, problem] of [
		["{", /JSON/],
		[[], /schema must be 1/],
		[{ ...good, schema: 2 }, /schema must be 1/],
		[{ ...good, latest: "2.0.0" }, /latest is 2\.0\.0/],
		[{ ...good, releases: [{ ...release, version: "v1.4.0" }] }, /semantic version/],
		[{ ...good, releases: [{ ...release, version: "1.4" }] }, /releases\.0\.version/],
		[{ ...good, releases: [release, release] }, /duplicate 1\.4\.0/],
		[{ ...good, releases: [{ ...release, images: [image, image] }] }, /duplicate .+1\.4\.0\.bin/],
		[withImage({ model: "DEV-2" }), /images\.0\.model must be one of DEV-1, PROTO-1/],
		[withImage({ chip: "esp8266" }), /chip must be one of/],
		[withImage({ flash: [{ ...file, path: "/etc/x.bin" }] }), /path must be/],
		[withImage({ flash: [{ ...file, path: "/releases/../flash-v1/x.bin" }] }), /path must be/],
		[withImage({ flash: [file, file] }), /duplicate .+bootloader\.bin/],
		[withImage({ patches: Array(4).fill(patch) }), /patches must .*3/],
		[withImage({ patches: [patch, patch] }), /duplicate .+from-v1\.3\.0\.patch/],
		[withImage({ patches: [{ ...patch, path: "/etc/x.patch" }] }), /path must be/],
		[withImage({ patches: [{ ...patch, path: `/releases/..${patchName}` }] }), /path must be/],
		[withImage({ patches: [{ ...patch, from_version: "1.3.1" }] }), /must be named .*from-v1\.3\.1\.patch/],
		[
			withImage({ patches: [{ ...patch, path: `/releases/proto-1${patchName}` }] }),
			/must be named .*v1\.3\.0\.patch/,
		],
		[withImage({ size: 0 }), /size must be/],
		[withImage({ sha256: "abc" }), /sha256 must be/],
		[withImage({ path: "/etc/firmware-v1.4.0.bin" }), /path must be/],
		[withImage({ path: "/releases/../firmware-v1.4.0.bin" }), /path must be/],
		[withImage({ path: "http://x/releases/firmware-v1.4.0.bin" }), /path must be/],
		[withImage({ path: "/releases/firmware-v1.4.0.exe" }), /path must be/],
		[withImage({ path: "/releases/firmware-v1.4.1.bin" }), /must be named firmware-v1\.4\.0\.bin/],
	] as const) {
		const content = typeof catalog === "string" ? catalog : JSON.stringify(catalog);
		assert.throws(() => parseCatalog(content), { message: problem }, content);
	}
});

function withImage(fields: Readonly<Record<string, unknown>>) {
	return { ...good, releases: [{ ...release, images: [{ ...image, ...fields }] }] };
}

describe("served catalog", () => {
	const empty = { schema: 1, latest: null, releases: [] };

	test("is empty without a file, and reloaded after any change on disk", async (t) => {
		const { request, releasesDir, problems } = await runFirmwareServer(t);
		assert.deepEqual((await request("/ota/catalog")).json, empty);
		assert.deepEqual(problems, []);
		const latest = async () => (await request("/ota/catalog")).json.latest;
		await writeCatalog(releasesDir, good);
		assert.deepEqual((await request("/ota/catalog")).json, good);
		await writeReleases(releasesDir, [{ version: "1.5.0", model: "DEV-1", chip: "esp32" }]);
		assert.equal(await latest(), "1.5.0");
		const path = join(releasesDir, "catalog.json");
		await writeFile(`${path}.new`, JSON.stringify(good).replaceAll("1.4.0", "1.6.0"));
		await rename(`${path}.new`, path);
		assert.equal(await latest(), "1.6.0");
		await rm(path);
		assert.deepEqual((await request("/ota/catalog")).json, empty);
		await writeCatalog(releasesDir, good);
		assert.equal(await latest(), "1.4.0");
	});
	test("is read once while unchanged, and again after a read error", async (t) => {
		let reads = 0;
		let isBusy = false;
		const disk = diskWith((operation) => {
			if (operation === "readFile" && ++reads && isBusy) throw systemError("EMFILE");
		});
		const { request, releasesDir, problems } = await runFirmwareServer(t, { disk });
		await writeCatalog(releasesDir, good);
		isBusy = true;
		for (let times = 0; times < 2; times++) assert.deepEqual((await request("/ota/catalog")).json, empty);
		assert.match(String(problems), /^[^,]+ is invalid, so [^,]+: EMFILE$/, "once");
		isBusy = false;
		reads = 0;
		for (let times = 0; times < 3; times++) assert.deepEqual((await request("/ota/catalog")).json, good);
		assert.equal(reads, 1);
	});
	test("keeps the last valid one while the file is invalid, which is reported once", async (t) => {
		const { request, releasesDir, problems } = await runFirmwareServer(t);
		await writeCatalog(releasesDir, good);
		await request("/ota/catalog");
		await writeCatalog(releasesDir, '{"schema":1,');
		for (let times = 0; times < 3; times++) assert.deepEqual((await request("/ota/catalog")).json, good);
		assert.equal(problems.length, 1);
		assert.match(String(problems), /is invalid, so the last valid catalog stays in use: .*JSON/);
		await writeCatalog(releasesDir, { ...good, schema: 7 });
		await request("/ota/catalog");
		assert.equal(problems.length, 2);
		await writeCatalog(releasesDir, { ...good, latest: null });
		assert.equal((await request("/ota/catalog")).json.latest, null);
		assert.equal(problems.length, 2);
	});
});
