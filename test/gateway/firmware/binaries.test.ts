import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { rename, rm, symlink, writeFile } from "node:fs/promises";
import { Agent, get } from "node:http";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { assertSameBytes, sha256Of } from "../../support/bytes.js";
import { diskWith, failingDisk } from "../../support/disk.js";
import { nextEvent } from "../../support/eventually.js";
import { type FirmwareServer, runFirmwareServer } from "../../support/firmware-server.js";
import { makeImage } from "../../support/images.js";
import { catalogEntry, imagePath, writeCatalog, writeReleases } from "../../support/releases.js";

const image = makeImage();

/** Path of the upload's file. */
async function pathOf({ store }: FirmwareServer): Promise<string> {
	assert.ok(store.current, "the store has no upload");
	return (await store.path(store.current)) ?? assert.fail("the upload has no file");
}

describe("complete binary", () => {
	test("is sent with its name, time and digests, with a query, and for an absolute target of a proxy", async (t) => {
		const serving = await runFirmwareServer(t, { now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678) });
		await serving.upload(image, "xs_esp32.bin");
		const { status, headers, body } = await serving.request("/ota/firmware.bin");
		assertSameBytes(body, image);
		const digest = `sha-256=:${createHash("sha256").update(image).digest("base64")}:`;
		assert.deepEqual([status, headers["content-digest"], headers["repr-digest"]], [200, digest, digest]);
		const shown = [headers["last-modified"], headers["content-disposition"], headers["cache-control"]];
		assert.deepEqual(shown, [
			"Fri, 02 Jan 2026 03:04:05 GMT",
			"attachment; filename=xs_esp32.bin",
			"private, no-cache, no-transform",
		]);
		const head = await serving.request("/ota/firmware.bin", {}, "HEAD");
		assert.deepEqual([head.headers.etag, head.body.length], [headers.etag, 0]);
		for (const target of ["/ota/firmware.bin?x=/y", `${serving.url}/ota/firmware.bin`])
			assert.ok((await serving.request(target)).body.equals(image), target);
		assert.equal((await serving.request("/ota/firmware.bin/")).status, 404);
	});

	test("is sent in ranges over one connection", async (t) => {
		const serving = await runFirmwareServer(t);
		const { sha256 } = (await serving.upload(image)).json;
		const agent = new Agent({ keepAlive: true, maxSockets: 1 });
		t.after(() => agent.destroy());
		const headers = { Range: "bytes=0-9", "If-Range": `"${sha256}"`, Connection: "keep-alive" };
		for (const isReused of [false, true, true]) {
			const request = get(`${serving.url}/ota/firmware.bin`, { agent, headers });
			const [response] = await nextEvent(request, "response");
			assert.deepEqual([response.statusCode, request.reusedSocket], [206, isReused]);
			await nextEvent(response.resume(), "end");
		}
	});
});

test("an upload is served through a link, unless changed on disk", async (t) => {
	const serving = await runFirmwareServer(t);
	await serving.upload(image);
	const [path, elsewhere] = [await pathOf(serving), join(serving.directory, "elsewhere.bin")];
	await rename(path, elsewhere);
	await symlink(elsewhere, path);
	assertSameBytes((await serving.request("/ota/firmware.bin")).body, image);
	await writeFile(elsewhere, "something else");
	assert.equal((await serving.request("/ota/firmware.bin")).status, 503);
	assert.match(String(serving.problems), /modified on disk/);
});

test("an address with a SHA-256 serves no other image, even while results are reused", async (t) => {
	const serving = await runFirmwareServer(t, { recheckMs: 60_000 });
	const statusOf = async (address: string) => (await serving.request(address)).status;
	const [release] = await writeReleases(serving.releasesDir, [
		{ version: "1.4.0", model: "DEV-1", chip: "virtual" },
	]);
	assert.ok(release, "no release is written");
	await serving.upload(image);
	for (const [path, own, others] of [
		["/ota/firmware.bin", image, release],
		["/releases/firmware-v1.4.0.bin?model=dev-1&chip=virtual", release, image],
		["/releases/virtual/dev-1/firmware-v1.4.0.bin", release, image],
	] as const) {
		const query = `${path}${path.includes("?") ? "&" : "?"}sha256=`;
		const digest = sha256Of(own);
		assert.deepEqual([await statusOf(path), await statusOf(query + digest)], [200, 200]);
		const { status, json } = await serving.request(query + sha256Of(others));
		assert.equal(status, 410);
		assert.match(String(json.detail), /replaced by another image/);
	}
	const choice = await serving.selection.choose({ model: "DEV-1", chip: "esp32s3" }, "custom");
	assert.ok(!choice.rejection, choice.rejection?.message);
	const { path } = choice;
	assert.equal(await statusOf(path), 200);
	await serving.upload(makeImage({ version: "1.5.0" }));
	assert.equal(await statusOf(path), 410, "another image than ordered is served");
	assert.equal(await statusOf("/ota/firmware.bin"), 200);
	await serving.upload(image);
	assert.equal(await statusOf(path), 200);
});

describe("release", () => {
	const content = { version: "1.4.0", model: "DEV-1", chip: "virtual" } as const;

	test("is served under its version's path, selected by the query or as the only image", async (t) => {
		const { request, releasesDir } = await runFirmwareServer(t);
		const proto = { version: "1.4.0", model: "PROTO-1", chip: "esp32" } as const;
		const onlyOne = { version: "1.3.0", model: "DEV-1", chip: "esp32s3" } as const;
		const [dev1, proto1, only] = await writeReleases(releasesDir, [content, proto, onlyOne]);
		const path = "/releases/firmware-v1.4.0.bin";
		for (const [address, image] of [
			[`${path}?model=dev-1&chip=virtual`, dev1],
			[`${path}?chip=esp32&model=PROTO-1`, proto1],
			[`${path}?model=proto-1`, proto1],
			[imagePath(content), dev1],
			[`${imagePath(content)}?model=proto-1`, dev1],
			["/releases/firmware-v1.3.0.bin", only],
			["/releases/firmware-v1.3.0.bin?model=dev-1&chip=esp32s3", only],
		] as const) {
			const { status, body, headers } = await request(address);
			assert.deepEqual([status, image?.equals(body)], [200, true], address);
			assert.match(String(headers["content-disposition"]), /filename=firmware-v1\.[34]\.0\.bin$/);
		}
		const ways = "Append one of ?model=dev-1&chip=virtual, ?model=proto-1&chip=esp32 to the URL.";
		for (const [address, detail] of [
			[path, `Release 1.4.0 has several images. ${ways}`],
			[`${path}?model=dev-2`, `Release 1.4.0 has no matching image. ${ways}`],
			[`${path}?model=dev-1&chip=esp32`, `Release 1.4.0 has no matching image. ${ways}`],
			["/releases/firmware-v1.5.0.bin", "File not found in the catalog. GET /ota/catalog lists all files."],
		] as const) {
			const { status, json } = await request(address);
			assert.deepEqual([status, json?.detail], [404, detail]);
		}
	});

	test("serves only files listed in the catalog, for any path", async (t) => {
		const { request, releasesDir, directory } = await runFirmwareServer(t);
		await writeReleases(releasesDir, [content]);
		await writeFile(join(directory, "secret.bin"), "secret");
		await writeFile(join(releasesDir, "virtual", "firmware-v9.9.9.bin"), "not in the catalog");
		for (const path of [
			"/releases/",
			"/releases/catalog.json",
			"/releases/virtual/dev-1/",
			"/releases/virtual/firmware-v9.9.9.bin",
			"/releases/virtual/dev-1/FIRMWARE-v1.4.0.bin",
			"/releases/virtual/dev-1/firmware-v1.4.0.bin/",
			"/releases/../secret.bin",
			"/releases/..%2fsecret.bin",
			"/releases/%2e%2e/secret.bin",
			"/releases/..%5csecret.bin",
			"/releases/virtual/../../secret.bin",
			"/releases//virtual/dev-1/firmware-v1.4.0.bin",
			"/releases/./virtual/dev-1/firmware-v1.4.0.bin",
			"/releases/virtual/dev-1/firmware-v1.4.0.bin%00",
			`/releases/${"a/".repeat(1000)}x.bin`,
		])
			assert.equal((await request(path)).status, 404, path);
		assert.equal((await request("/releases/%E0%A4%A.bin")).status, 400);
	});
	test("follows only links within the folder", async (t) => {
		const { request, releasesDir, directory } = await runFirmwareServer(t);
		const [bytes = Buffer.of()] = await writeReleases(releasesDir, [content]);
		const path = join(directory, imagePath(content));
		for (const [target, status] of [
			[join(directory, "outside.bin"), 503],
			[join(releasesDir, "inside.bin"), 200],
		] as const) {
			await writeFile(target, bytes);
			await rm(path);
			await symlink(target, path);
			assert.equal((await request(imagePath(content))).status, status);
		}
	});
	test("returns 503 with Retry-After for a missing or changed file", async (t) => {
		const serving = await runFirmwareServer(t);
		const [bytes = Buffer.alloc(0)] = await writeReleases(serving.releasesDir, [content]);
		const file = join(serving.directory, imagePath(content));
		assert.equal((await serving.request(imagePath(content))).status, 200);
		for (const [spoil, reason] of [
			[() => writeFile(file, makeImage({ ...content, version: "1.4.1" })), /does not match the catalog/],
			[() => rm(file), /is missing/],
		] as const) {
			await spoil();
			const { status, headers, json } = await serving.request(imagePath(content));
			assert.deepEqual([status, headers["retry-after"]], [503, "10"]);
			assert.match(String(json.detail), reason);
		}
		await writeFile(file, bytes);
		assert.equal((await serving.request(imagePath(content))).status, 200);
		const wrong = makeImage({ ...content, model: "PROTO-1" });
		await writeFile(file, wrong);
		const releases = [
			{ version: "1.4.0", date: "2026-01-02", notes: "", images: [catalogEntry(content, wrong)] },
		];
		await writeCatalog(serving.releasesDir, { schema: 1, latest: "1.4.0", releases });
		const { status, json } = await serving.request(imagePath(content));
		assert.equal(status, 503);
		assert.match(String(json.detail), /contains 1\.4\.0 for PROTO-1 \(virtual\)/);
	});
	test("serves its patches and its files for new boards, unless changed", async (t) => {
		const { request, release, releasesDir } = await runFirmwareServer(t);
		await release("1.3.0", [makeImage({ ...content, version: "1.3.0" })]);
		const parts = [{ name: "bootloader.bin", offset: 0, bytes: Buffer.from("the boot loader") }];
		await release("1.4.0", [{ image: makeImage(content), offset: 0x20000, parts }]);
		const folder = "/releases/virtual/dev-1/flash-v1.4.0";
		const { builds } = JSON.parse((await request(`${folder}/flash.json`)).body.toString());
		for (const { path } of builds[0].parts)
			assert.equal((await request(new URL(path, `http://gateway${folder}/`).pathname)).status, 200, path);
		const patch = imagePath(content).replace(".bin", ".from-v1.3.0.patch");
		assert.equal((await request(patch.replace("1.3.0", "1.2.0"))).status, 404);
		for (const path of [patch, `${folder}/bootloader.bin`]) {
			const { status, headers } = await request(path);
			const caching = "private, max-age=31536000, immutable, no-transform";
			assert.deepEqual([status, headers["cache-control"]], [200, caching], path);
			await writeFile(join(releasesDir, path.slice("/releases/".length)), "another one");
			const changed = await request(path);
			assert.equal(changed.status, 503, path);
			assert.match(String(changed.json.detail), /does not match the catalog\. Build release 1\.4\.0 again/);
		}
	});
});

describe("image cache", () => {
	const content = { version: "1.4.0", model: "DEV-1", chip: "virtual" } as const;
	const a = imagePath(content);

	async function serveCounted(t: TestContext, options: { recheckMs?: number } = {}) {
		let reads = 0;
		const disk = diskWith((operation) => {
			if (operation === "open") reads++;
		});
		const serving = await runFirmwareServer(t, { disk, ...options });
		await writeReleases(serving.releasesDir, [content]);
		const before = reads;
		const get = async (path: string) => {
			const { status, body } = await serving.request(path);
			assert.equal(status, 200);
			return body.length;
		};
		return { serving, get, reads: () => reads - before };
	}

	test("reads a file once for all requests, even concurrent ones", async (t) => {
		for (const recheckMs of [0, 60_000]) {
			const { get, reads } = await serveCounted(t, { recheckMs });
			await Promise.all(Array.from({ length: 30 }, () => get(a)));
			await get(a);
			assert.equal(reads(), 1);
		}
	});
	test("does not recheck a recently checked file, and serves a new upload immediately", async (t) => {
		const { serving, get } = await serveCounted(t, { recheckMs: 60_000 });
		await get(a);
		await rm(join(serving.directory, a));
		await get(a);
		for (const upload of [image, Buffer.concat([image, Buffer.from("behind it")])]) {
			await serving.upload(upload);
			assert.equal(await get("/ota/firmware.bin"), upload.length);
		}
	});
	test("retries an unreadable file at the next request", async (t) => {
		const broken = failingDisk("open", "EIO");
		const serving = await runFirmwareServer(t, { disk: broken.disk, recheckMs: 60_000 });
		await writeReleases(serving.releasesDir, [content]);
		assert.equal((await serving.request(a)).status, 500);
		broken.isFailing = false;
		assert.equal((await serving.request(a)).status, 200);
	});
});
