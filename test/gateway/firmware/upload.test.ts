import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { cleanFilename } from "../../../gateway/firmware/upload.js";
import { assertSameBytes, sha256Of } from "../../support/bytes.js";
import { diskWith } from "../../support/disk.js";
import { deferred, nextEvent, waitUntil, within } from "../../support/eventually.js";
import {
	type Answer,
	type FirmwareServer,
	filePart,
	form,
	formHeaders,
	namelessPart,
	runFirmwareServer,
	textPart,
} from "../../support/firmware-server.js";
import { damaged, makeImage, withoutHash } from "../../support/images.js";

const image = makeImage();
const other = makeImage({ version: "1.5.0", chip: "esp32", model: "PROTO-1" });
const limit = 100_000;

/** Start of a request whose headers a test completes. */
const head = `POST /ota/upload HTTP/1.1\r\nHost: x\r\nContent-Type: ${formHeaders["Content-Type"]}\r\n`;

/** Names of the current binary and its description. */
async function assertStored(serving: FirmwareServer, expected: Uint8Array): Promise<void> {
	const files = [`${sha256Of(expected)}.bin`, "upload.json"].sort();
	assert.deepEqual((await readdir(serving.uploadsDir)).sort(), files);
	const { body } = await serving.request("/ota/firmware.bin");
	assert.equal(Buffer.compare(body, expected), 0);
}

/** Resolves once the folder has this number of files, at the start or end of an upload. */
async function untilFiles(serving: FirmwareServer, count: number): Promise<void> {
	await waitUntil(async () => (await readdir(serving.uploadsDir)).length === count);
}

test("returns a status with every field, and 404 for the binary before the first upload", async (t) => {
	const { request } = await runFirmwareServer(t);
	const status = await request("/ota/status");
	const none = { filename: null, size: 0, upload_time: null, sha256: null, version: null, model: null };
	const unsigned = { chip: null, signature: null, signature_required: false };
	assert.deepEqual([status.status, status.json], [200, { ...none, ...unsigned }]);
	const binary = await request("/ota/firmware.bin");
	assert.equal(binary.status, 404);
	assert.match(String(binary.json.detail), /^No firmware has been uploaded/);
});

describe("upload", () => {
	test("returns the image details, shown in the status and served, also with trailing data", async (t) => {
		const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
		const serving = await runFirmwareServer(t, { now: () => now });
		const trailing = Buffer.alloc(5000, "x");
		const files = [image, Buffer.concat([image, trailing]), Buffer.concat([withoutHash(image), trailing])];
		for (const file of files) {
			const { status, json } = await serving.upload(file, "xs_esp32.bin");
			assert.equal(status, 201);
			assert.deepEqual(json, {
				filename: "xs_esp32.bin",
				size: file.length,
				upload_time: "2026-01-02T03:04:05.678Z",
				sha256: sha256Of(file),
				version: "1.4.0",
				model: "DEV-1",
				chip: "esp32s3",
				signature: null,
				signature_required: false,
			});
			assert.deepEqual((await serving.request("/ota/status")).json, json);
			await assertStored(serving, file);
			assert.equal((await serving.upload(file, "again.bin")).json.filename, "again.bin");
			await assertStored(serving, file);
		}
	});
	test("may have other fields and files, and arrive in any chunks", async (t) => {
		const serving = await runFirmwareServer(t);
		const body = form(
			textPart("note", "hello"),
			filePart(Buffer.from("notes"), "notes.txt", "notes"),
			filePart(image),
			textPart("after", "more"),
		);
		const socket = connect(serving.port, "127.0.0.1");
		socket.write(`${head}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`);
		for (let at = 0; at < body.length; at += 997) {
			socket.write(body.subarray(at, at + 997));
			await new Promise((resolve) => setImmediate(resolve));
		}
		const [answer] = await nextEvent(socket, "data");
		assert.match(answer.toString(), /^HTTP\/1\.1 201 /);
		await assertStored(serving, image);
	});
	test("is stored with any content and without details if images are not checked", async (t) => {
		const serving = await runFirmwareServer(t, { checkImages: false });
		const content = Buffer.from("firmware of another type");
		const { status, json } = await serving.upload(content);
		assert.equal(status, 201);
		assert.deepEqual([json.version, json.model, json.chip], [null, null, null]);
		await assertStored(serving, content);
		assert.equal((await serving.upload(Buffer.alloc(0))).status, 400);
		const again = await runFirmwareServer(t, { directory: serving.directory, checkImages: false });
		assert.deepEqual((await again.request("/ota/status")).json, json);
	});
});

/** Sends a body that is not a form. */
const typed = (type: string) => (to: FirmwareServer) => to.post(image, { "Content-Type": type });
const send =
	(...parts: readonly Buffer[]) =>
	(to: FirmwareServer) =>
		to.post(Buffer.concat(parts));
const tooLong = Buffer.alloc(limit + 1, 0xe9);
/** Status, detail and request of each rejection; image.test.ts has those of images. */
const bad: Readonly<Record<string, readonly [number, RegExp, (to: FirmwareServer) => Promise<Answer>]>> = {
	"a text": [422, /starts with 0x68/, (to) => to.upload(Buffer.from("hello"))],
	"a wrong SHA-256": [422, /SHA-256/, (to) => to.upload(damaged(image, image.length - 9, [1, 2]))],
	"an empty file": [400, /empty/, (to) => to.upload(Buffer.alloc(0))],
	"an empty body": [400, /malformed|no file field/, send()],
	"a form without parts": [400, /no file field named "firmware"|malformed/, send(form())],
	"another field": [400, /no file field/, send(form(filePart(image, "a.bin", "Firmware")))],
	"the field as a text": [400, /contains text/, send(form(textPart("firmware", "hello")))],
	"two files in it": [400, /more than one/, send(form(filePart(image), filePart(other)))],
	"a truncated form": [400, /ended within|incomplete/, send(form(filePart(image)).subarray(0, 50_000))],
	"a form truncated within another file": [
		400,
		/ended within|incomplete/,
		send(filePart(image), filePart(image, "b.bin", "other").subarray(0, 5000)),
	],
	"a form without its last line": [400, /ended within|incomplete/, send(filePart(image))],
	"a body that is not a form": [400, /malformed|no file field/, send(image)],
	"a form without a boundary": [400, /boundary/, typed("multipart/form-data")],
	"a bare image": [415, /multipart/, typed("application/octet-stream")],
	"no type": [415, /multipart/, typed("")],
	"a file above the limit": [413, /exceeds the limit of 100000/, (to) => to.upload(tooLong)],
	"a form far above the limit": [413, /exceeds the limit/, (to) => to.upload(Buffer.alloc(2_000_000, 0xe9))],
	"a chunked form above the limit, in other fields": [
		413,
		/exceeds the limit/,
		(to) => {
			const body = form(filePart(Buffer.alloc(2_000_000), "a.bin", "other"), filePart(image));
			return to.post(body, { "Transfer-Encoding": "chunked" });
		},
	],
};

test("accepts an upload of the maximum size, and rejects bad ones with a reason, without an unhandled error", async (t) => {
	const uncaught: unknown[] = [];
	const listener = (error: unknown) => void uncaught.push(error);
	process.on("uncaughtException", listener);
	t.after(() => process.off("uncaughtException", listener));
	const serving = await runFirmwareServer(t, { maxBytes: limit });
	const largest = Buffer.concat([other, Buffer.alloc(limit - other.length)]);
	const previous = (await serving.upload(largest)).json;
	for (const [what, [status, detail, send]] of Object.entries(bad)) {
		const { status: answered, headers, json } = await send(serving);
		assert.equal(answered, status, `${what}: ${JSON.stringify(json)}`);
		assert.match(String(json.detail), detail, what);
		assert.match(String(headers["content-type"]), /^application\/problem\+json/);
		assert.deepEqual((await serving.request("/ota/status")).json, previous, what);
		await assertStored(serving, largest);
	}
	assert.deepEqual([serving.problems, uncaught], [[], []]);
});

describe("concurrent upload", () => {
	test("stores two at once completely, and the last one wins", async (t) => {
		const serving = await runFirmwareServer(t);
		for (let round = 0; round < 4; round++) {
			const answers = await Promise.all([serving.upload(image), serving.upload(other)]);
			const statuses = answers.map(({ status }) => status);
			assert.deepEqual(statuses, [201, 201]);
			const status = (await serving.request("/ota/status")).json;
			await assertStored(serving, status.sha256 === sha256Of(image) ? image : other);
			assert.equal(status.version, status.sha256 === sha256Of(image) ? "1.4.0" : "1.5.0");
		}
	});
	for (const [step, operation, nth] of [
		["found", "stat", 1],
		["read", "stat", 2],
		["opened", "open", 1],
	] as const)
		test(`is served as its successor if replaced before its file is ${step}`, async (t) => {
			let left = Number.POSITIVE_INFINITY;
			const disk = diskWith(async (performed, path) => {
				if (performed === operation && path.endsWith(`${sha256Of(image)}.bin`) && --left === 0)
					await serving.upload(other);
			});
			const serving = await runFirmwareServer(t, { disk });
			await serving.upload(image);
			left = nth;
			const { status, body } = await serving.request("/ota/firmware.bin");
			assert.deepEqual([status, left <= 0], [200, true]);
			assertSameBytes(body, other);
			assert.deepEqual(serving.problems, []);
		});
	test("is rejected with Retry-After above four at once", async (t) => {
		const serving = await runFirmwareServer(t);
		const sockets = [1, 2, 3, 4].map(() => beginUpload(serving, image.subarray(0, 10_000)));
		await untilFiles(serving, 4);
		const rejected = await serving.upload(image);
		assert.deepEqual([rejected.status, rejected.headers["retry-after"]], [429, "5"]);
		for (const socket of sockets) socket.destroy();
		await untilFiles(serving, 0);
		assert.equal((await serving.upload(image)).status, 201);
	});
	test("returns 408 and leaves no file if stalled", async (t) => {
		const serving = await runFirmwareServer(t);
		t.mock.timers.enable({ apis: ["setInterval"] });
		const answered = nextEvent(beginUpload(serving, image.subarray(0, 10_000)), "data");
		await untilFiles(serving, 1);
		t.mock.timers.tick(30_000);
		const [answer] = await answered;
		assert.match(String(answer), /^HTTP\/1\.1 408 /);
		await untilFiles(serving, 0);
	});
	test("leaves no file if its client disconnects", async (t) => {
		const serving = await runFirmwareServer(t);
		await serving.upload(other);
		for (const length of [0, 100, 30_000, image.length]) {
			const socket = beginUpload(serving, image.subarray(0, length));
			await untilFiles(serving, 3);
			socket.destroy();
			await untilFiles(serving, 2);
		}
		await assertStored(serving, other);
		assert.deepEqual(serving.problems, []);
	});
});

test("leaves no file if its client disconnects before one exists", async (t) => {
	const [begun, left, removed] = [deferred(), deferred(), deferred()];
	const disk = diskWith((operation) => {
		if (operation === "rm") removed.resolve();
		if (operation !== "create") return;
		begun.resolve();
		return left.promise;
	});
	const serving = await runFirmwareServer(t, { disk });
	serving.server.once("connection", (socket) => socket.once("close", () => left.resolve()));
	const client = beginUpload(serving, image.subarray(0, 100));
	await begun.promise;
	client.destroy();
	await within(removed.promise, "the removal of the file");
	await untilFiles(serving, 0);
});

/** Starts an upload on a socket that stays open. */
function beginUpload(serving: FirmwareServer, content: Uint8Array) {
	const socket = connect(serving.port, "127.0.0.1").on("error", () => {});
	socket.write(`${head}Content-Length: 99999\r\n\r\n`);
	socket.write(filePart(content).subarray(0, -2));
	return socket;
}

test("delivers a rejection to a client that is still sending, and reads little more for at most 3 s", async (t) => {
	const serving = await runFirmwareServer(t);
	t.mock.timers.enable({ apis: ["setTimeout"] });
	for (const length of [60_000, 20_000_000]) {
		const socket = connect(serving.port, "127.0.0.1");
		const parts = Buffer.concat([textPart("firmware", "not a file"), filePart(image).subarray(0, 1000)]);
		socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
		socket.write(
			Buffer.concat([Buffer.from(`${parts.length.toString(16)}\r\n`), parts, Buffer.from("\r\n")]),
		);
		const [answer] = await nextEvent(socket, "data");
		assert.match(answer.toString(), /^HTTP\/1\.1 400 .*Connection: close.*contains text instead of a file/s);
		const rest = `${length.toString(16)}\r\n${"x".repeat(length)}\r\n0\r\n\r\n`;
		socket.write(rest);
		// The gateway reads 64 KiB at most.
		if (length > 60_000) {
			for (let turn = 0; turn < 500; turn += 1) await new Promise((resolve) => setImmediate(resolve));
			assert.notEqual(socket.writableLength, 0, "all was read");
			t.mock.timers.tick(3000);
		}
		await nextEvent(socket.on("error", () => {}).resume(), "end");
		socket.destroy();
	}
});

test("shows a file name without path and invisible characters", () => {
	for (const [original, shown] of [
		["xs_esp32.bin", "xs_esp32.bin"],
		["/etc/passwd", "passwd"],
		["../../x.bin", "x.bin"],
		["C:\\fakepath\\x.bin", "x.bin"],
		["a\u0000b\r\nc\u202e.bin", "abc.bin"],
		["Gerät 日本.bin", "Gerät 日本.bin"],
		["  x.bin ", "x.bin"],
		["", "firmware.bin"],
		["..", "firmware.bin"],
		["/", "firmware.bin"],
		["\u200b\u0007", "firmware.bin"],
		["x".repeat(5000), "x".repeat(120)],
		["😀".repeat(200), "😀".repeat(120)],
	] as const)
		assert.equal(cleanFilename(original), shown);
});

test("names an unnamed file, and keeps a UTF-8 name of a browser", async (t) => {
	const serving = await runFirmwareServer(t);
	const { status, json } = await serving.post(form(namelessPart(image)));
	assert.deepEqual([status, json.filename], [201, "firmware.bin"]);
	assert.equal((await serving.upload(image, "Gerät.bin")).json.filename, "Gerät.bin");
	const { headers } = await serving.request("/ota/firmware.bin");
	assert.match(String(headers["content-disposition"]), /filename\*=UTF-8''Ger%C3%A4t\.bin/);
});
