import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { rename, rm, symlink, writeFile } from "node:fs/promises";
import { Agent, get } from "node:http";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { addRelease } from "../../../scripts/release/folder.js";
import { assertSameBytes } from "../../support/bytes.js";
import { nextEvent } from "../../support/eventually.js";
import { type FirmwareServer, runFirmwareServer } from "../../support/firmware-server.js";
import { makeImage } from "../../support/images.js";
import { catalogEntry, imagePath, writeCatalog, writeReleases } from "../../support/releases.js";
import { countingDisk } from "./counting-disk.js";

const image = makeImage();
const size = image.length;
const uploadedAt = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const lastModified = "Fri, 02 Jan 2026 03:04:05 GMT";
const etag = `"${createHash("sha256").update(image).digest("hex")}"`;

function digestOf(bytes: Uint8Array): string {
	return `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`;
}

async function serveUpload(t: TestContext) {
	const serving = await runFirmwareServer(t, { now: () => uploadedAt });
	await serving.upload(image, "xs_esp32.bin");
	return (headers: Readonly<Record<string, string>> = {}, method = "GET") =>
		serving.request("/ota/firmware.bin", headers, method);
}

describe("complete binary", () => {
	test("is sent with its length, validators and digests, and for HEAD with the digest of empty content", async (t) => {
		const request = await serveUpload(t);
		const { status, headers, body } = await request();
		assert.equal(status, 200);
		assertSameBytes(body, image);
		const { date: _date, connection: _connection, ...rest } = headers;
		const expected = {
			"accept-ranges": "bytes",
			"cache-control": "private, no-cache, no-transform",
			"content-digest": digestOf(image),
			"content-disposition": "attachment; filename=xs_esp32.bin",
			"content-length": String(size),
			"content-type": "application/octet-stream",
			etag,
			"last-modified": lastModified,
			"repr-digest": digestOf(image),
			"x-content-type-options": "nosniff",
		};
		assert.deepEqual(rest, expected);
		for (const range of ["bytes=0-9", `bytes=${size}-`]) {
			const head = await request({ Range: range }, "HEAD");
			const { date: _headDate, connection: _headConnection, ...ofHead } = head.headers;
			assert.deepEqual([head.status, head.body.length], [200, 0], "Range means nothing in a HEAD");
			assert.deepEqual(ofHead, { ...expected, "content-digest": digestOf(Buffer.alloc(0)) });
		}
	});
	test("is served with a query, and for an absolute target of a proxy", async (t) => {
		const serving = await runFirmwareServer(t);
		await serving.upload(image);
		for (const target of ["/ota/firmware.bin?x=/y", `${serving.url}/ota/firmware.bin`])
			assert.ok((await serving.request(target)).body.equals(image), target);
		assert.equal((await serving.request("/ota/firmware.bin/")).status, 404);
	});
});

describe("requested range", () => {
	test("is sent with its own digest up to 64 KiB", async (t) => {
		const request = await serveUpload(t);
		for (const [range, first, last] of [
			["bytes=0-0", 0, 0],
			["bytes=16384-32767", 16_384, 32_767],
			[`bytes=${size - 1}-${size - 1}`, size - 1, size - 1],
			[`bytes=${size - 10}-${size + 100}`, size - 10, size - 1],
			["bytes=10000-", 10_000, size - 1],
			["bytes=100-", 100, size - 1],
			["bytes=0-", 0, size - 1],
			["bytes=-1", size - 1, size - 1],
			[`bytes=-${size * 2}`, 0, size - 1],
			["bytes=0-999999999999999999999999", 0, size - 1],
			["Bytes=5-6", 5, 6],
		] as const) {
			const { status, headers, body } = await request({ Range: range });
			const part = image.subarray(first, last + 1);
			assertSameBytes(body, part);
			const digest = part.length > 65_536 && part.length < size ? undefined : digestOf(part);
			assert.deepEqual(
				[status, headers["content-range"], headers["content-length"], headers["content-digest"]],
				[206, `bytes ${first}-${last}/${size}`, String(part.length), digest],
				range,
			);
			assert.deepEqual([headers["repr-digest"], headers.etag], [digestOf(image), etag]);
		}
	});
	test("is sent with only the required headers with If-Range", async (t) => {
		const request = await serveUpload(t);
		const { status, headers } = await request({ Range: "bytes=16384-32767", "If-Range": etag });
		assert.equal(status, 206);
		const { date: _date, ...rest } = headers;
		assert.deepEqual(rest, {
			"cache-control": "private, no-cache, no-transform",
			"content-digest": digestOf(image.subarray(16_384, 32_768)),
			"content-length": "16384",
			"content-range": `bytes 16384-32767/${size}`,
			etag,
		});
	});
	test("can be repeated on one connection", async (t) => {
		const serving = await runFirmwareServer(t);
		await serving.upload(image);
		const agent = new Agent({ keepAlive: true, maxSockets: 1 });
		t.after(() => agent.destroy());
		const isSame: boolean[] = [];
		for (const range of ["bytes=0-9", "bytes=10-19", "bytes=20-29"]) {
			const headers = { Range: range, "If-Range": etag, Connection: "keep-alive" };
			const request = get(`${serving.url}/ota/firmware.bin`, { agent, headers });
			const [response] = await nextEvent(request, "response");
			assert.equal(response.statusCode, 206);
			await nextEvent(response.resume(), "end");
			isSame.push(request.reusedSocket);
		}
		assert.deepEqual(isSame, [false, true, true]);
	});
	test("is ignored if malformed, of another unit or in several parts", async (t) => {
		const request = await serveUpload(t);
		for (const range of [
			...["bytes=5-2", "bytes=-", "bytes=", "bytes=a-b", "bytes=0", "bytes=0x0-5", "bytes=1-2,4-5"],
			...["items=0-5", "bytes", "0-5", "bytes=--5", "bytes=1.0-2"],
		]) {
			const { status, headers, body } = await request({ Range: range });
			assert.deepEqual([status, body.length, headers["content-range"]], [200, size, undefined], range);
		}
	});
	test("is answered with 416 and the length if it starts after the end", async (t) => {
		const request = await serveUpload(t);
		for (const range of [`bytes=${size}-`, "bytes=99999999999999999999-", "bytes=-0"]) {
			const { status, headers, json } = await request({ Range: range });
			assert.deepEqual([status, headers["content-range"], headers.etag], [416, `bytes */${size}`, undefined]);
			assert.match(String(json.detail), new RegExp(`has ${size} bytes`));
		}
	});
});

test("evaluates the conditions of a request", async (t) => {
	const request = await serveUpload(t);
	const [before, after] = ["Thu, 01 Jan 2026 03:04:05 GMT", "Sat, 03 Jan 2026 03:04:05 GMT"];
	const Range = "bytes=0-9";
	for (const [headers, status] of [
		[{ Range, "If-Range": etag }, 206],
		[{ Range, "If-Range": lastModified }, 206],
		[{ Range, "If-Range": '"other"' }, 200],
		[{ Range, "If-Range": `W/${etag}` }, 200],
		[{ Range, "If-Range": after }, 200],
		[{ Range: `bytes=${size}-`, "If-Range": '"other"' }, 200],
		[{ "If-None-Match": etag }, 304],
		[{ "If-None-Match": `W/${etag}` }, 304],
		[{ "If-None-Match": `"a", ${etag}` }, 304],
		[{ "If-None-Match": "*" }, 304],
		[{ "If-None-Match": '"other"' }, 200],
		[{ "If-None-Match": '"x"', "If-Modified-Since": lastModified }, 200],
		[{ Range, "If-None-Match": etag }, 304],
		[{ "If-Modified-Since": lastModified }, 304],
		[{ "If-Modified-Since": after }, 304],
		[{ "If-Modified-Since": before }, 200],
		[{ "If-Modified-Since": "yesterday" }, 200],
		[{ Range, "If-Match": etag }, 206],
		[{ "If-Match": "*" }, 200],
		[{ "If-Match": '"other"' }, 412],
	] as const)
		for (const method of status === 206 ? ["GET"] : ["GET", "HEAD"]) {
			const answer = await request({ ...headers }, method);
			assert.equal(answer.status, status, `${method} ${JSON.stringify(headers)}`);
			if (status !== 304) continue;
			assert.equal(answer.body.length, 0);
			assert.deepEqual([answer.headers.etag, answer.headers["content-digest"]], [etag, undefined]);
		}
});

describe("upload file", () => {
	test("is not served if changed on disk", async (t) => {
		const serving = await runFirmwareServer(t);
		await serving.upload(image);
		await writeFile(
			(await serving.store.path(uploadOf(serving))) ?? assert.fail("the upload has no file"),
			"something else",
		);
		assert.equal((await serving.request("/ota/firmware.bin")).status, 503);
		assert.match(String(serving.problems), /modified on disk/);
	});
	test("is served through a link", async (t) => {
		const serving = await runFirmwareServer(t);
		await serving.upload(image);
		const path = (await serving.store.path(uploadOf(serving))) ?? assert.fail("the upload has no file");
		await rename(path, join(serving.directory, "elsewhere.bin"));
		await symlink(join(serving.directory, "elsewhere.bin"), path);
		assertSameBytes((await serving.request("/ota/firmware.bin")).body, image);
	});
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
		const digest = createHash("sha256").update(own).digest("hex");
		assert.deepEqual([await statusOf(path), await statusOf(query + digest)], [200, 200]);
		const { status, json } = await serving.request(query + createHash("sha256").update(others).digest("hex"));
		assert.equal(status, 410);
		assert.match(String(json.detail), /replaced by another image/);
	}
	const { path } = await chosen(serving);
	assert.equal(await statusOf(path), 200);
	await serving.upload(makeImage({ version: "1.5.0" }));
	assert.equal(await statusOf(path), 410, "another image than ordered is served");
	assert.equal(await statusOf("/ota/firmware.bin"), 200);
	await serving.upload(image);
	assert.equal(await statusOf(path), 200);
});

async function chosen({ selection }: FirmwareServer) {
	const choice = await selection.choose({ model: "DEV-1", chip: "esp32s3" }, "custom");
	assert.ok(!choice.rejection, choice.rejection?.message);
	return choice;
}

function uploadOf({ store }: FirmwareServer) {
	assert.ok(store.current, "the store has no upload");
	return store.current;
}

describe("release", () => {
	const content = { version: "1.4.0", model: "DEV-1", chip: "virtual" } as const;
	const parts = [{ name: "bootloader.bin", offset: 0, bytes: Buffer.from("the boot loader") }];

	test("is served under its path, with a long cache lifetime", async (t) => {
		const { request, releasesDir } = await runFirmwareServer(t);
		const [bytes] = await writeReleases(releasesDir, [content]);
		const { status, headers, body } = await request("/releases/virtual/dev-1/firmware-v1.4.0.bin");
		assert.equal(status, 200);
		assertSameBytes(body, bytes ?? Buffer.of());
		assert.equal(headers["cache-control"], "private, max-age=31536000, immutable, no-transform");
		assert.equal(headers["content-disposition"], "attachment; filename=firmware-v1.4.0.bin");
		const part = await request("/releases/virtual/dev-1/firmware-v1.4.0.bin", { Range: "bytes=0-15" });
		assert.deepEqual([part.status, part.body.length], [206, 16]);
	});
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
			const { status, headers, body } = await request(address);
			assert.equal(status, 200, address);
			assert.ok(image?.equals(body), address);
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
		const other = { ...content, version: "1.5.0" };
		const [bytes = Buffer.alloc(0), others = Buffer.alloc(0)] = await writeReleases(releasesDir, [
			content,
			other,
		]);
		const [path, otherPath] = [join(directory, imagePath(content)), join(directory, imagePath(other))];
		await writeFile(join(directory, "outside.bin"), bytes);
		await rm(path);
		await symlink(join(directory, "outside.bin"), path);
		assert.equal((await request(imagePath(content))).status, 503);
		await writeFile(join(releasesDir, "inside.bin"), others);
		await rm(otherPath);
		await symlink(join(releasesDir, "inside.bin"), otherPath);
		assert.equal((await request(imagePath(other))).status, 200);
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
	test("serves its files for new boards, unless changed", async (t) => {
		const { request, releasesDir } = await runFirmwareServer(t);
		const installable = { image: makeImage(content), offset: 0x20000, parts };
		await addRelease(releasesDir, { version: "1.4.0", date: "2026-01-02", notes: "", images: [installable] });
		const folder = "/releases/virtual/dev-1/flash-v1.4.0";
		const { status, body } = await request(`${folder}/bootloader.bin`);
		assert.deepEqual([status, body.toString()], [200, "the boot loader"]);
		const { builds } = JSON.parse((await request(`${folder}/flash.json`)).body.toString());
		for (const { path } of builds[0].parts)
			assert.equal((await request(new URL(path, `http://gateway${folder}/`).pathname)).status, 200, path);
		await writeFile(join(releasesDir, "virtual/dev-1/flash-v1.4.0/bootloader.bin"), "another one");
		const changed = await request(`${folder}/bootloader.bin`);
		assert.equal(changed.status, 503);
		assert.match(String(changed.json.detail), /does not match the catalog\. Build release 1\.4\.0 again/);
	});
	test("serves its patches, unless changed", async (t) => {
		const { request, releasesDir } = await runFirmwareServer(t);
		await writeReleases(releasesDir, [content]);
		const bytes = Buffer.from("makes 1.4.0 from 1.3.0");
		const file = catalogEntry({ ...content, version: "1.3.0" }, bytes);
		const path = imagePath(content).replace(".bin", ".from-v1.3.0.patch");
		const patches = [
			{ path, size: file.size, sha256: file.sha256, from_version: "1.3.0", from: "0".repeat(64) },
		];
		const images = [{ ...catalogEntry(content, makeImage(content)), patches }];
		const releases = [{ version: "1.4.0", date: "2026-01-02", notes: "", images }];
		await writeCatalog(releasesDir, { schema: 1, latest: "1.4.0", releases });
		await writeFile(join(releasesDir, path.slice("/releases/".length)), bytes);
		const { status, headers, body } = await request(path, { Range: "bytes=6-10" });
		assert.deepEqual([status, body.toString(), headers.etag], [206, "1.4.0", `"${file.sha256}"`]);
		assert.equal(headers["content-digest"], digestOf(Buffer.from("1.4.0")));
		assert.equal(headers["cache-control"], "private, max-age=31536000, immutable, no-transform");
		assert.equal((await request(path.replace("1.3.0", "1.2.0"))).status, 404);
		await writeFile(join(releasesDir, path.slice("/releases/".length)), "another one");
		const changed = await request(path);
		assert.equal(changed.status, 503);
		assert.match(
			String(changed.json.detail),
			/\.patch does not match the catalog\. Build release 1\.4\.0 again/,
		);
	});
});

describe("image cache", () => {
	/** Disk that counts reads of an image. */
	function readCounter() {
		let reads = 0;
		const plain = countingDisk(() => {});
		const open: typeof plain.open = (...parameters) => {
			reads++;
			return plain.open(...parameters);
		};
		return { disk: { ...plain, open }, reads: () => reads };
	}

	const contents = (["1.4.0", "1.3.0", "1.2.0"] as const).map((version) => ({
		version,
		model: "DEV-1" as const,
		chip: "virtual" as const,
	}));
	const [a, b, c] = contents.map(imagePath);

	async function serveCounted(t: TestContext, options: { maxCachedBytes?: number; recheckMs?: number } = {}) {
		const { disk, reads } = readCounter();
		const serving = await runFirmwareServer(t, { disk, ...options });
		await writeReleases(serving.releasesDir, contents);
		const before = reads();
		const get = async (path = "") => {
			const { status, body } = await serving.request(path);
			assert.equal(status, 200);
			return body.length;
		};
		return { serving, get, reads: () => reads() - before };
	}

	test("reads a file once for all requests, even concurrent ones", async (t) => {
		for (const recheckMs of [0, 60_000]) {
			const { get, reads } = await serveCounted(t, { recheckMs });
			await Promise.all(Array.from({ length: 30 }, () => get(a)));
			await get(a);
			assert.equal(reads(), 1);
		}
	});
	test("evicts the least recently used images above the limit, never the last one", async (t) => {
		const { get, reads } = await serveCounted(t, { maxCachedBytes: 2 * makeImage(contents[0]).length });
		for (const path of [a, b, a, b, a]) await get(path);
		assert.equal(reads(), 2);
		for (const path of [c, a]) await get(path);
		assert.equal(reads(), 3, "b is the least recently used");
		await get(b);
		assert.equal(reads(), 4);
		const tiny = await serveCounted(t, { maxCachedBytes: 1 });
		for (const path of [a, a]) await tiny.get(path);
		assert.equal(tiny.reads(), 1);
	});
	test("does not recheck a recently checked file, and serves a new upload immediately", async (t) => {
		const { serving, get } = await serveCounted(t, { recheckMs: 60_000 });
		await get(a);
		await rm(join(serving.directory, a ?? ""));
		await get(a);
		for (const upload of [image, Buffer.concat([image, Buffer.from("behind it")])]) {
			await serving.upload(upload);
			assert.equal(await get("/ota/firmware.bin"), upload.length);
		}
	});
	test("retries an unreadable file at the next request", async (t) => {
		const { disk } = readCounter();
		let isBroken = true;
		const open: typeof disk.open = (...parameters) =>
			isBroken
				? Promise.reject(Object.assign(new Error("broken"), { code: "EIO" }))
				: disk.open(...parameters);
		const serving = await runFirmwareServer(t, { disk: { ...disk, open }, recheckMs: 60_000 });
		await writeReleases(serving.releasesDir, contents);
		assert.equal((await serving.request(a ?? "")).status, 500);
		isBroken = false;
		assert.equal((await serving.request(a ?? "")).status, 200);
	});
});
