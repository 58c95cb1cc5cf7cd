/** Property tests of the firmware routes with any range, form and path. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { isBase64Of } from "../../../device/update/base64.js";
import { evaluateResponse } from "../../../device/update/response.js";
import { cleanFilename } from "../../../gateway/firmware/upload.js";
import { character, mutatedText, oddText } from "../../support/arbitraries.js";
import { assertSameBytes } from "../../support/bytes.js";
import { filePart, form, formHeaders, runFirmwareServer, textPart } from "../../support/firmware-server.js";
import { makeImage } from "../../support/images.js";
import { runs } from "../../support/property-runs.js";

const image = makeImage();
const size = image.length;
/** Text permitted in a header or a form part. */
const headerText = (text: fc.Arbitrary<string>) =>
	text.map((each) => each.replace(/[^\x20-\x7e\xa0-\xff]/g, "").trim());

/** RFC 9110, 14.1.2 and 14.2. @returns first and last byte, "beyond" the end, or undefined if the field is ignored */
function spanOf(range: string): readonly [number, number] | "beyond" | undefined {
	const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/i.exec(range) ?? [];
	if (from === "" && to === "") return undefined;
	if (from === "")
		return BigInt(to) === 0n
			? "beyond"
			: [Number(BigInt(to) > BigInt(size) ? 0n : BigInt(size) - BigInt(to)), size - 1];
	if (to !== "" && BigInt(to) < BigInt(from)) return undefined;
	if (BigInt(from) >= BigInt(size)) return "beyond";
	return [Number(from), to === "" || BigInt(to) >= BigInt(size) ? size - 1 : Number(to)];
}

const place = fc.oneof(
	fc.nat(size + 10).map(String),
	fc.constantFrom("", "0", String(size - 1), String(size), "99999999999999999999"),
);
const range = fc.oneof(
	fc.tuple(place, place).map(([from, to]) => `bytes=${from}-${to}`),
	headerText(mutatedText(fc.constant("bytes=0-16383"))),
	headerText(oddText),
);

test("answers ranges as RFC 9110 requires, with a digest accepted by devices", async (t) => {
	const serving = await runFirmwareServer(t);
	await serving.upload(image);
	await fc.assert(
		fc.asyncProperty(range, async (field) => {
			const { status, headers, body } = await serving.request("/ota/firmware.bin", { Range: field });
			const span = spanOf(field);
			if (span === "beyond") {
				assert.deepEqual([status, headers["content-range"]], [416, `bytes */${size}`]);
				return;
			}
			const [first, last] = span ?? [0, size - 1];
			assert.equal(status, span ? 206 : 200);
			assertSameBytes(body, image.subarray(first, last + 1));
			if (!span) return;
			const fields = new Map(Object.entries(headers).map(([name, value]) => [name, String(value)]));
			const verdict = evaluateResponse(status, fields, {
				offset: first,
				byteLength: last + 1 - first,
				file: undefined,
			});
			assert.ok(verdict.kind === "bytes", JSON.stringify(verdict));
			assert.equal(verdict.file.total, size);
			if (verdict.sha256 !== undefined)
				assert.ok(
					isBase64Of(verdict.sha256, createHash("sha256").update(body).digest()),
					`digest ${verdict.sha256} of another content`,
				);
			else assert.ok(body.length > 65_536, `no digest for ${body.length} bytes`);
		}),
		{ numRuns: runs(200) },
	);
});

test("answers any condition and path with the firmware or 4xx, never 5xx", async (t) => {
	const serving = await runFirmwareServer(t);
	await serving.upload(image);
	const etag = `"${createHash("sha256").update(image).digest("hex")}"`;
	const tag = headerText(
		fc.oneof(mutatedText(fc.constantFrom(etag, `W/${etag}`, "*", `"a", ${etag}`)), oddText),
	);
	const name = fc.constantFrom("If-Match", "If-None-Match", "If-Range", "If-Modified-Since");
	await fc.assert(
		fc.asyncProperty(name, tag, range, async (field, value, asked) => {
			const { status, body } = await serving.request("/ota/firmware.bin", { [field]: value, Range: asked });
			assert.ok([200, 206, 304, 412, 416].includes(status), String(status));
			if (status === 200) assertSameBytes(body, image);
			if (status === 304) assert.match(field, /^If-(None-Match|Modified-Since)$/);
			if (status === 412) assert.equal(field, "If-Match");
		}),
		{ numRuns: runs(100) },
	);
	const path = mutatedText(
		fc.constantFrom(
			"/releases/firmware-v1.4.0.bin",
			"/releases/%2e%2e/%2e%2e/etc/passwd",
			"/releases/%c3%28",
		),
	).map(
		(text) => `/releases/${encodeURI(text.toString().replace(/[\ud800-\udfff]/g, "")).replace(/%25/g, "%")}`,
	);
	await fc.assert(
		fc.asyncProperty(path, async (target) => {
			const { status } = await serving.request(target);
			assert.ok(status === 404 || status === 400, `${status} for ${target}`);
		}),
		{ numRuns: runs(100) },
	);
	assert.deepEqual(serving.problems, []);
});

const filename = headerText(fc.oneof(oddText, fc.string({ unit: "grapheme" }))).map((text) =>
	text.replace(/["\\]/g, ""),
);
const otherPart = fc.oneof(
	fc
		.tuple(fc.constantFrom("note", "x"), fc.string({ maxLength: 50 }))
		.map(([name, text]) => textPart(name, text)),
	fc.uint8Array({ maxLength: 100 }).map((bytes) => filePart(bytes, "other.txt", "other")),
);
const small = makeImage({ segments: [Buffer.from("the program")] });

test("stores an image unchanged under a printable name, with any other form parts", async (t) => {
	const serving = await runFirmwareServer(t);
	await fc.assert(
		fc.asyncProperty(
			fc.array(otherPart, { maxLength: 3 }),
			fc.array(otherPart, { maxLength: 3 }),
			filename,
			async (before, after, name) => {
				const { status, json } = await serving.post(form(...before, filePart(small, name), ...after));
				assert.equal(status, 201, JSON.stringify(json));
				assert.deepEqual((await serving.request("/ota/status")).json, json);
				assert.equal(json.size, small.length);
				assertSameBytes((await serving.request("/ota/firmware.bin")).body, small);
			},
		),
		{ numRuns: runs(60) },
	);
});

test("rejects any other form with a documented status, and keeps the previous upload", async (t) => {
	const serving = await runFirmwareServer(t);
	const { json: previous } = await serving.upload(small);
	const body = form(
		textPart("note", "x"),
		filePart(makeImage({ version: "1.4.1", segments: [Buffer.from("another")] })),
	);
	const cut = fc.nat(body.length - 1).map((end) => body.subarray(0, end));
	const changed = fc
		.array(fc.tuple(fc.nat(body.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
		.map((changes) => {
			const copy = Buffer.from(body);
			for (const [at, byte] of changes) copy[at] = byte;
			return copy;
		});
	const file = fc.uint8Array({ maxLength: 500 }).map((bytes) => form(filePart(bytes)));
	const type = fc.oneof(
		{ weight: 4, arbitrary: fc.constant(formHeaders["Content-Type"]) },
		{ weight: 1, arbitrary: headerText(mutatedText(fc.constant(formHeaders["Content-Type"]))) },
	);
	await fc.assert(
		fc.asyncProperty(fc.oneof(cut, changed, file), type, async (content, contentType) => {
			const { status, json } = await serving.post(content, { "Content-Type": contentType });
			assert.ok([201, 400, 413, 415, 422].includes(status), `${status}: ${JSON.stringify(json)}`);
			const now = (await serving.request("/ota/status")).json;
			if (status !== 201) assert.deepEqual(now, previous);
			// A byte changed in the part's header, or to the same value.
			else assert.equal(now.version, "1.4.1");
			if (status === 201) assert.equal((await serving.upload(small)).status, 201);
			if (status === 201) Object.assign(previous, (await serving.request("/ota/status")).json);
		}),
		{ numRuns: runs(150) },
	);
	assert.deepEqual(serving.problems, []);
});

test("shows a file name without path and invisible characters, and never empty", () => {
	fc.assert(
		fc.property(fc.oneof(oddText, fc.string({ unit: character, maxLength: 300 })), (name) => {
			const shown = cleanFilename(name);
			assert.doesNotMatch(shown, /[/\\\p{C}\u2028\u2029]|^\.*$/u);
			assert.ok([...shown].length <= 120, `${[...shown].length} characters`);
			assert.equal(cleanFilename(shown), shown);
		}),
		{ numRuns: runs(1000) },
	);
});
