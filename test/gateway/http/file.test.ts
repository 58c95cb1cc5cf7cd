import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { ServerResponse } from "node:http";
import { type TestContext, test } from "node:test";
import { sendFile } from "../../../gateway/http/file.js";
import { RequestError } from "../../../gateway/problem.js";
import { incomingRequest } from "../../support/incoming-request.js";

const size = 1000;
const image = Buffer.from(Array.from({ length: size }, (_, index) => index));
const lastModified = "Fri, 20 Nov 2026 12:00:00 GMT";
const [before, after] = ["Thu, 19 Nov 2026 12:00:00 GMT", "Sat, 21 Nov 2026 12:00:00 GMT"];
const [etag, other] = ['"5a"', '"5b"'];

function digestOf(first: number, last: number): string {
	return createHash("sha256")
		.update(image.subarray(first, last + 1))
		.digest("base64");
}

/** Response to a request: its status, headers and body, or that of its rejection. */
function send(t: TestContext, headers: Readonly<Record<string, string>>, method = "GET") {
	const request = Object.assign(incomingRequest("10.0.0.2", headers), { method });
	const response = new ServerResponse(request);
	const head = t.mock.method(response, "writeHead").mock;
	const end = t.mock.method(response, "end").mock;
	const content = { bytes: image, sha256: "5a", digestOf };
	try {
		sendFile(request, response, { content, filename: "a.bin", lastModified, caching: "no-cache" });
	} catch (error) {
		assert.ok(error instanceof RequestError, String(error));
		const { status, headers, detail } = error.rejection;
		return { status, fields: headers ?? {}, body: detail };
	}
	const [status, fields]: unknown[] = head.calls[0]?.arguments ?? [];
	assert.ok(Array.isArray(fields), "no headers");
	const pairs = Array.from({ length: fields.length / 2 }, (_, at) => fields.slice(2 * at, 2 * at + 2));
	return { status, fields: Object.fromEntries(pairs), body: end.calls[0]?.arguments[0] };
}

test("sends a file with its length, validators and digests, for HEAD with the digest of empty content", (t) => {
	const fields = {
		"Accept-Ranges": "bytes",
		"Cache-Control": "private, no-cache, no-transform",
		"Content-Digest": `sha-256=:${digestOf(0, size)}:`,
		"Content-Disposition": "attachment; filename=a.bin",
		"Content-Length": String(size),
		"Content-Type": "application/octet-stream",
		ETag: etag,
		"Last-Modified": lastModified,
		"Repr-Digest": `sha-256=:${Buffer.from([0x5a]).toString("base64")}:`,
		"X-Content-Type-Options": "nosniff",
	};
	assert.deepEqual(send(t, {}), { status: 200, fields, body: image });
	for (const range of ["bytes=0-9", `bytes=${size}-`]) {
		const { status, fields: ofHead } = send(t, { range }, "HEAD");
		const expected = { ...fields, "Content-Digest": `sha-256=:${digestOf(0, -1)}:` };
		assert.deepEqual([status, ofHead], [200, expected], "Range means nothing in a HEAD");
	}
});

test("sends a requested range with its own digest, with If-Range only with the required headers", (t) => {
	for (const [range, first, last] of [
		["bytes=0-0", 0, 0],
		["bytes=16-32", 16, 32],
		["bytes=999-999", 999, 999],
		["bytes=990-1100", 990, 999],
		["bytes=100-", 100, 999],
		["bytes=0-", 0, 999],
		["bytes=-1", 999, 999],
		["bytes=-2000", 0, 999],
		["bytes=0-999999999999999999999999", 0, 999],
		["Bytes=5-6", 5, 6],
	] as const) {
		const { status, fields, body } = send(t, { range, "if-range": etag });
		const required = {
			"Cache-Control": "private, no-cache, no-transform",
			"Content-Digest": `sha-256=:${digestOf(first, last)}:`,
			"Content-Length": String(last + 1 - first),
			"Content-Range": `bytes ${first}-${last}/${size}`,
			ETag: etag,
		};
		assert.deepEqual([status, fields, body], [206, required, image.subarray(first, last + 1)], range);
		const { fields: all } = send(t, { range });
		assert.deepEqual({ ...all, ...required }, all);
	}
});

test("ignores a range that is malformed, of another unit or in several parts, and rejects one after the end", (t) => {
	for (const range of [
		...["bytes=5-2", "bytes=-", "bytes=", "bytes=a-b", "bytes=0", "bytes=0x0-5", "bytes=1-2,4-5"],
		...["items=0-5", "bytes", "0-5", "bytes=--5", "bytes=1.0-2"],
	]) {
		const { status, fields, body } = send(t, { range });
		assert.deepEqual([status, fields["Content-Range"], body], [200, undefined, image], range);
	}
	for (const range of [`bytes=${size}-`, "bytes=99999999999999999999-", "bytes=-0"]) {
		const { status, fields, body } = send(t, { range });
		assert.deepEqual([status, fields], [416, { "Content-Range": `bytes */${size}` }]);
		assert.match(String(body), /has 1000 bytes/);
	}
});

test("evaluates the conditions of a request", (t) => {
	const range = "bytes=0-9";
	for (const [headers, status] of [
		[{ range, "if-range": etag }, 206],
		[{ range, "if-range": lastModified }, 206],
		[{ range, "if-range": other }, 200],
		[{ range, "if-range": `W/${etag}` }, 200],
		[{ range, "if-range": after }, 200],
		[{ range: `bytes=${size}-`, "if-range": other }, 200],
		[{ "if-none-match": etag }, 304],
		[{ "if-none-match": `W/${etag}` }, 304],
		[{ "if-none-match": `"a", ${etag}` }, 304],
		[{ "if-none-match": "*" }, 304],
		[{ "if-none-match": other }, 200],
		[{ "if-none-match": other, "if-modified-since": lastModified }, 200],
		[{ range, "if-none-match": etag }, 304],
		[{ "if-modified-since": lastModified }, 304],
		[{ "if-modified-since": after }, 304],
		[{ "if-modified-since": before }, 200],
		[{ "if-modified-since": "yesterday" }, 200],
		[{ range, "if-match": etag }, 206],
		[{ "if-match": "*" }, 200],
		[{ "if-match": other }, 412],
	] as const)
		for (const method of status === 206 ? ["GET"] : ["GET", "HEAD"]) {
			const { status: answered, fields, body } = send(t, { ...headers }, method);
			assert.equal(answered, status, `${method} ${JSON.stringify(headers)}`);
			if (status !== 304) continue;
			assert.deepEqual([fields.ETag, fields["Content-Digest"], body], [etag, undefined, undefined]);
		}
});
