import assert from "node:assert/strict";
import { test } from "node:test";
import { ResponseHead } from "../../../device/network/response-head.js";

/** Parses a head in pieces of at most `length` characters. @returns the rest of the text after the head */
function parse(text: string, length = 1000) {
	const head = new ResponseHead(["date", "retry-after"]);
	let at = 0;
	while (at < text.length && !head.isOver) {
		const piece = text.slice(at, text.indexOf("\n", at) + 1 || undefined).slice(0, length);
		at += piece.length;
		head.read(piece);
	}
	return { head, rest: text.slice(at) };
}

test("reads the status and the wanted fields up to the empty line, in any pieces", () => {
	const text =
		"HTTP/1.1 401 Unauthorized\r\nRetry-After:  5 \r\nserver: x\r\nnonsense\r\nDATE: a:b\r\n\r\nbody\r\n\r\n";
	for (const length of [1, 2, 7, 1000]) {
		const { head, rest } = parse(text, length);
		assert.deepEqual([head.status, ...head.fields], [401, ["retry-after", "5"], ["date", "a:b"]]);
		assert.equal(rest, "body\r\n\r\n");
	}
});

test("skips interim responses, but not the switch to another protocol", () => {
	const { head } = parse("HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ndate: a\r\n\r\n");
	assert.deepEqual([head.status, ...head.fields], [200, ["date", "a"]]);
	assert.equal(parse("HTTP/1.1 101 Switching\r\n\r\nrest").rest, "rest");
	assert.ok(parse("HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000)).head.isOver, "no limit");
});

test("accepts status lines of HTTP/1 only", () => {
	for (const line of ["HTTP/1.0 200 OK", "HTTP/1.1 200 ", "HTTP/1.1 200"])
		assert.equal(parse(`${line}\r\n`).head.status, 200, line);
	for (const line of ["hello", "", "HTTP/2 200", "HTTP/1.1 2000", "HTTP/1.1 099 x", "XHTTP/1.1 200 OK"]) {
		const { head } = parse(`${line}\r\n`);
		assert.deepEqual([head.status, head.isOver], [0, true], line);
	}
});

test("skips long lines, and ends a head that does not end", () => {
	const { head } = parse(`HTTP/1.1 200 OK\r\ndate: ${"x".repeat(600)}\r\nretry-after: 5\r\n\r\n`);
	assert.deepEqual([head.isOver, ...head.fields], [true, ["retry-after", "5"]]);
	assert.deepEqual(parse("x".repeat(9_000), 64).head.status, 0);
	const endless = parse(`HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(2_000)}`);
	assert.ok(endless.head.isOver && endless.rest !== "", "no limit");
});
