/** Parsing of URLs, certificates and HTTP responses by a device. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseGatewayUrl } from "../../../device/network/gateway-url.js";
import { readContentLength, readContentRange, readSha256 } from "../../../device/network/http-fields.js";
import { evaluateResponse } from "../../../device/network/http-response.js";
import { parseHttpUrl } from "../../../device/network/http-url.js";
import { readAuthority } from "../../../device/update/authority.js";
import { isBase64Of } from "../../../device/update/base64.js";
import { damaged, mutatedText, oddText } from "../../support/arbitraries.js";
import { runs } from "../../support/property-runs.js";

const host = fc.oneof(fc.domain(), fc.ipV4(), fc.stringMatching(/^[a-z][A-Za-z0-9.-]{0,30}$/));
const port = fc.option(fc.integer({ min: 1, max: 65_535 }), { nil: undefined });
const path = fc.oneof(fc.constantFrom("", "/"), fc.stringMatching(/^(\/[\w.~%@:!$&'()*+,;=-]{0,12}){1,4}$/));
const parts = fc.record({ isSecure: fc.boolean(), host, port, path });
const textOf = (
	scheme: string,
	{ isSecure, host, port, path }: typeof parts extends fc.Arbitrary<infer P> ? P : never,
) => `${scheme}${isSecure ? "s" : ""}://${host}${port === undefined ? "" : `:${port}`}${path}`;

test("parses a URL into the parts it was built from", () => {
	fc.assert(
		fc.property(parts, (urlParts) => {
			const { isSecure, host } = urlParts;
			const port = urlParts.port ?? (isSecure ? 443 : 80);
			const slash = urlParts.path || "/";
			assert.deepEqual(parseHttpUrl(textOf("http", urlParts), "firmware"), {
				isSecure,
				host,
				port,
				path: slash,
			});
			const path = slash === "/" ? "/device" : slash;
			assert.deepEqual(parseGatewayUrl(textOf("ws", urlParts)), { isSecure, host, port, path });
		}),
		{ numRuns: runs(500) },
	);
});

test("rejects other gateway addresses with a message that describes the expected form", () => {
	for (const url of [
		"",
		"a.local",
		"http://a",
		"ws://",
		"ws:///device",
		"ws://a b",
		"ws://a:x",
		"ws://a:1:2",
	])
		assert.throws(() => parseGatewayUrl(url), /gateway must be ws:\/\/host:port\/device or wss:/, url);
	for (const url of ["ws://a:0", "ws://a:65536", "ws://a:99999"])
		assert.throws(() => parseGatewayUrl(url), /port must be from 1 to 65535/, url);
});

/** Result of a parser, or the message of its error. */
function outcomeOf(read: () => unknown): object {
	try {
		return { value: read() };
	} catch (error) {
		return { rejection: String(error) };
	}
}

test("any other URL is rejected with a message, or has a host, a port and no white space", () => {
	const schemeAndParts = fc.tuple(fc.constantFrom("ws", "http"), parts);
	const bounds = fc
		.tuple(
			fc.constantFrom("ws", "wss", "http", "https"),
			fc.constantFrom("0", "1", "65535", "65536", "065536", "99999"),
		)
		.map(([scheme, number]) => `${scheme}://a:${number}/`);
	const text = fc.oneof(
		mutatedText(schemeAndParts.map(([scheme, urlParts]) => textOf(scheme, urlParts))),
		bounds,
		oddText,
	);
	fc.assert(
		fc.property(text, (url) => {
			for (const [parse, rejection] of [
				[parseGatewayUrl, /^Error: gateway('s port)? must be /],
				[(url: string) => parseHttpUrl(url, "firmware"), /^Error: The firmware's address must be http:/],
			] as const) {
				const outcome = outcomeOf(() => parse(url));
				if ("rejection" in outcome) assert.match(String(outcome.rejection), rejection);
				else {
					const { host, port, path } = parse(url);
					assert.match(host, /^[A-Za-z0-9.-]+$/);
					assert.ok(Number.isInteger(port) && port >= 1 && port <= 65_535, `port ${port}`);
					assert.match(path, /^\/\S*$/);
				}
			}
		}),
		{ numRuns: runs(500) },
	);
});

const der = fc.uint8Array({ minLength: 1, maxLength: 3000 });
const pem = fc
	.tuple(der, fc.constantFrom("\n", "\r\n", " "), fc.integer({ min: 1, max: 76 }), fc.boolean())
	.map(([bytes, lineEnd, width, isPadded]) => {
		const base64 = Buffer.from(bytes).toString("base64");
		const lines = base64.match(new RegExp(`.{1,${width}}`, "g")) ?? [];
		const text = ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join(lineEnd);
		return { base64, text: isPadded ? `-----END CERTIFICATE-----\n${text}${text}` : text };
	});

test("reads a PEM certificate with any line length and rejects anything but base64", () => {
	fc.assert(fc.property(pem, ({ text, base64 }) => assert.equal(readAuthority(text), base64)));
	assert.throws(
		() => readAuthority("-----BEGIN CERTIFICATE-----\nMAMCAQU=A"),
		/must be a certificate in PEM/,
	);
	const short = fc
		.uint8Array({ minLength: 1, maxLength: 12 })
		.map(
			(bytes) =>
				`-----BEGIN CERTIFICATE-----\n${Buffer.from(bytes).toString("base64")}\n-----END CERTIFICATE-----\n`,
		);
	const padded = fc
		.string({ unit: fc.constantFrom("A", "=", "/"), maxLength: 12 })
		.map((base64) => `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`);
	fc.assert(
		fc.property(fc.oneof(mutatedText(short), padded, oddText), (text) => {
			const outcome = outcomeOf(() => readAuthority(text));
			if ("rejection" in outcome)
				assert.match(String(outcome.rejection), /^Error: cert_pem must be a certificate in PEM/);
			// Uint8Array.fromBase64, which boards use, accepts it like this.
			else
				assert.match(
					readAuthority(text),
					/^([A-Za-z\d+/]{4})*([A-Za-z\d+/]{4}|[A-Za-z\d+/]{3}=|[A-Za-z\d+/]{2}==)$/,
				);
		}),
		{ numRuns: runs(1000) },
	);
});

test("a base64 text matches a digest if and only if it decodes to it", () => {
	fc.assert(
		fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
			assert.ok(
				isBase64Of(Buffer.from(bytes).toString("base64"), bytes),
				`${Buffer.from(bytes).toString("hex")} is not recognized`,
			);
		}),
	);
	const digest = fc.uint8Array({ minLength: 32, maxLength: 32 });
	fc.assert(
		fc.property(
			digest.chain((bytes) => fc.tuple(fc.constant(bytes), damaged(bytes))),
			([bytes, other]) => assert.equal(isBase64Of(other.toString("base64"), bytes), false),
		),
	);
	const nearly = fc
		.uint8Array({ maxLength: 8 })
		.chain((bytes) =>
			fc.tuple(fc.constant(bytes), mutatedText(fc.constant(Buffer.from(bytes).toString("base64")))),
		);
	fc.assert(
		fc.property(nearly, ([bytes, text]) => {
			assert.equal(isBase64Of(text, bytes), text === Buffer.from(bytes).toString("base64"));
		}),
		{ numRuns: runs(1000) },
	);
});

const fieldText = fc.oneof(
	oddText,
	mutatedText(fc.constantFrom("bytes 0-5/10", "bytes 100-163/164", "12345", "sha-256=:AAAA:")),
);

test("reads an HTTP field if and only if it is well-formed", () => {
	fc.assert(
		fc.property(fc.nat(), fc.nat(1e6), fc.nat(1e6), (first, more, rest) => {
			const last = first + more;
			const total = last + 1 + rest;
			assert.deepEqual(readContentRange(`bytes ${first}-${last}/${total}`), { first, last, total });
			assert.equal(readContentRange(`bytes ${first}-${last}/${last}`), undefined);
			assert.equal(readContentRange(`bytes ${last + 1}-${last}/${total}`), undefined);
			assert.equal(readContentLength(String(total)), total);
		}),
	);
	fc.assert(
		fc.property(fieldText, (field) => {
			const range = readContentRange(field);
			if (range) {
				const { first, last, total } = range;
				assert.ok(first >= 0 && first <= last && last < total, `range ${first}-${last}/${total}`);
				assert.match(field, /^bytes \d+-\d+\/\d+$/i);
			}
			const length = readContentLength(field);
			if (length !== undefined) assert.match(field, /^\d+$/);
			const sha256 = readSha256(field);
			if (sha256) assert.ok(field.includes(`:${sha256}:`), `${sha256} is not in ${field}`);
		}),
		{ numRuns: runs(1000) },
	);
});

const headers = fc.dictionary(
	fc.constantFrom("content-range", "content-length", "content-digest", "etag", "transfer-encoding"),
	fieldText,
);
const file = fc.option(
	fc.record({ total: fc.nat(1000), etag: fc.constantFrom(undefined, '"a"'), isInParts: fc.boolean() }),
	{ nil: undefined },
);
const asked = fc.record({
	what: fc.constant("file"),
	offset: fc.nat(200),
	byteLength: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constant(Number.POSITIVE_INFINITY)),
	file,
});

test("accepts a response only if it contains the requested bytes, and otherwise gives a reason", () => {
	fc.assert(
		fc.property(
			fc.oneof(fc.constantFrom(200, 206, 416), fc.integer({ min: 100, max: 999 })),
			headers,
			asked,
			(status, fields, question) => {
				const { offset, byteLength, file } = question;
				const verdict = evaluateResponse(status, new Map(Object.entries(fields)), question);
				if (verdict.kind !== "bytes") return void assert.match(verdict.reason, /^The .+\.$/);
				assert.ok(status === 200 || status === 206, `accepted status ${status}`);
				const { total, isInParts } = verdict.file;
				const [, first, last] = /^bytes (\d+)-(\d+)/.exec(fields["content-range"] ?? "") ?? [];
				if (isInParts) assert.equal(Number(first), offset);
				if (isInParts) assert.equal(Number(last) + 1, Math.min(offset + byteLength, total));
				assert.ok(total > 0 && (!file || file.total === total), `${total} bytes, file: ${file?.total}`);
			},
		),
		{ numRuns: runs(2000) },
	);
});

test("accepts the requested part with its digest, whatever other fields the response has", () => {
	const part = fc.record({
		offset: fc.nat(1e6),
		byteLength: fc.integer({ min: 1, max: 16_384 }),
		rest: fc.nat(1e6),
		digest: fc.uint8Array({ minLength: 32, maxLength: 32 }),
	});
	fc.assert(
		fc.property(part, ({ offset, byteLength, rest, digest }) => {
			const total = offset + byteLength + rest;
			const sha256 = Buffer.from(digest).toString("base64");
			const fields = new Map([
				["content-range", `bytes ${offset}-${offset + byteLength - 1}/${total}`],
				["content-length", String(byteLength)],
				["content-digest", `sha-512=:AAAA:, sha-256=:${sha256}:`],
			]);
			const verdict = evaluateResponse(206, fields, { what: "file", offset, byteLength, file: undefined });
			assert.deepEqual(verdict, {
				kind: "bytes",
				file: { total, etag: undefined, isInParts: true },
				sha256,
			});
		}),
	);
});
