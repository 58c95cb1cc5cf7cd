import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertSameBytes } from "../../support/bytes.js";
import { makeFirmware, Rig, runUpdate } from "./rig.js";
import { type Fault, head, MemoryServer, type RawAnswer, type ServerOptions } from "./server.js";
import { clock } from "./timer.js";

const oldFirmware = makeFirmware("1.0.0", 40_000);
const newFirmware = makeFirmware("2.0.0", 200_000);
const blockBytes = 16_384;
const blocks = Math.ceil(newFirmware.length / blockBytes);

function run(options: Partial<ServerOptions> = {}, prepare?: (rig: Rig) => void) {
	return runUpdate({ file: newFirmware, ...options }, { firmware: oldFirmware }, prepare);
}

/** Asserts that the next start runs the new firmware, byte for byte. */
function assertUpdated({ rig, reason }: { rig: Rig; reason: string | undefined }): void {
	assert.equal(reason, undefined);
	assert.deepEqual(rig.messages.at(-1), { type: "ota_complete" });
	rig.restart();
	assert.equal(rig.boot.image.version, "2.0.0");
	assertSameBytes(rig.boot.image.bytes, newFirmware);
}

/** Asserts that the next start runs the old firmware, and that a faultless server could update the device then. */
function assertUnharmed(rig: Rig): void {
	assert.equal(rig.restarts, 0);
	assert.equal(rig.updater?.isRunning, false);
	assert.equal(clock.pending, 0, "pending timers");
	rig.restart();
	assert.equal(rig.boot.image.version, "1.0.0");
	assertSameBytes(rig.boot.image.bytes, oldFirmware);
	assertUpdated({ rig, reason: rig.update(new MemoryServer({ file: newFirmware })) });
}

function spread(count: number, range: number, seed: number): number[] {
	let state = seed;
	return Array.from({ length: count }, () => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return Math.floor((state / 2 ** 32) * range);
	});
}

/** Bytes sent in an undisturbed update. */
const wireBytes = run().server.sentBytes;

test("fetches a firmware once, in blocks of 16 KiB, on one connection", () => {
	const { rig, server, reason } = run();
	assert.equal(server.connections, 1);
	assert.equal(server.bodyBytes, newFirmware.length);
	assert.equal(server.requests.length, blocks);
	for (const [index, { headers }] of server.requests.entries())
		assert.equal(headers.get("range"), `bytes=${index * blockBytes}-${(index + 1) * blockBytes - 1}`);
	const etags = server.requests.map(({ headers }) => headers.get("if-range"));
	assert.equal(etags[0], undefined);
	assert.equal(
		new Set(etags.slice(1)).size,
		1,
		"from the second block on, requests require the same firmware",
	);
	assert.equal(server.requests[0]?.headers.get("host"), "gateway.lan:8080", "includes the port");
	assertUpdated({ rig, reason });
});

test("receives the next block while flash writes the previous one", () => {
	const rig = new Rig({ firmware: oldFirmware });
	const written: number[] = [];
	const note = () => void written.push(rig.flash.operations);
	const reason = rig.update(new MemoryServer({ file: newFirmware, answer: note }));
	assertUpdated({ rig, reason });
	assert.equal(written[1], written[0], "the second block is requested before the first is written");
	assert.equal(new Set(written).size, blocks - 1, "each further block is requested one block ahead");
});

test("reads a stream from a server without ranges", () => {
	for (const hasETags of [true, false]) {
		const outcome = run({ hasRanges: false, hasDigests: false, hasETags });
		assert.equal(outcome.server.requests.length, 1);
		assertUpdated(outcome);
	}
});

test("accepts a firmware from a server with weak ETags, or without digests and ETags", () => {
	const outcome = run({ isWeak: true });
	assertUpdated(outcome);
	for (const { headers } of outcome.server.requests)
		assert.ok(!headers.has("if-range"), "a weak ETag never matches");
	for (const hasETags of [true, false]) assertUpdated(run({ hasDigests: false, hasETags }));
});

test("accepts a firmware with a full last block, and one of less than a block", () => {
	for (const size of [blockBytes * 2, 2_000]) {
		let file = makeFirmware("2.0.0", size);
		file = makeFirmware("2.0.0", size - (file.length - size) + ((file.length - size) % 4));
		const { rig, reason } = run({ file });
		assert.equal(reason, undefined);
		rig.restart();
		assertSameBytes(rig.boot.image.bytes, file);
	}
});

describe("lost connection", () => {
	test("at 10 random bytes is resumed: all but one block is fetched once", () => {
		for (const at of spread(10, wireBytes, 1)) {
			const outcome = run({ faults: [{ at, kind: "cut" }] });
			assert.equal(outcome.server.faultsLeft, 0);
			assert.equal(outcome.server.connections, 2, `cut at ${at}`);
			assert.ok(outcome.server.bodyBytes <= newFirmware.length + blockBytes, `cut at ${at}`);
			assertUpdated(outcome);
		}
	});

	test("is tolerated five times in a block and ends the update the sixth time", () => {
		const faults = spread(6, 10_000, 2).map((at): Fault => ({ at: 100_000 + at, kind: "cut" }));
		const five = run({ faults: faults.slice(0, 5) });
		assert.equal(five.server.connections, 6);
		assertUpdated(five);
		const six = run({ faults });
		assert.match(six.reason ?? "", /^The download failed at byte \d+ of \d+: the connection broke off\.$/);
		assertUnharmed(six.rig);
	});

	test("resumes a stream without ranges at its position and skips written bytes", () => {
		for (const at of spread(5, newFirmware.length, 3))
			assertUpdated(run({ hasRanges: false, faults: [{ at, kind: "cut" }] }));
	});

	test("is retried with increasing delays, so that a restarting server is not overloaded", () => {
		const rig = new Rig({ firmware: oldFirmware });
		const server = new MemoryServer({ file: newFirmware });
		server.isDown = true;
		const start = clock.now;
		const reason = rig.update(server);
		assert.match(
			reason ?? "",
			/^gateway\.lan:8080 is unreachable after 6 attempts: the connection broke off\.$/,
		);
		assert.ok(clock.now - start >= 15_500, `${clock.now - start} ms`);
		assertUnharmed(rig);
	});

	test("during the lookup of the server's name is not made later", () => {
		const rig = new Rig({ firmware: oldFirmware, lookUpMs: [45_000] });
		const server = new MemoryServer({ file: newFirmware, answer: () => ({ head: "", ending: "stall" }) });
		const reason = rig.update(server);
		assert.match(reason ?? "", /nothing was received for 30 s/);
		assert.equal(server.connections, 5, "six attempts, the first of which found no address in time");
	});

	test("is assumed after 2 s of silence, once the server has responded", () => {
		const [, firstBodyStart = 0] = run().server.heads[0] ?? [];
		for (const at of spread(10, wireBytes - firstBodyStart, 4)) {
			const start = clock.now;
			const outcome = run({ faults: [{ at: firstBodyStart + at, kind: "stall" }] });
			assert.ok(clock.now - start > 2_000 && clock.now - start < 10_000, `${clock.now - start} ms`);
			assert.equal(outcome.server.connections, 2);
			assertUpdated(outcome);
		}
	});

	test("is assumed after 30 s of silence before the first response, because a TLS handshake takes long", () => {
		const start = clock.now;
		const outcome = run({ faults: [{ at: 0, kind: "stall" }] });
		assert.ok(clock.now - start > 30_000, `retried after ${clock.now - start} ms`);
		assert.equal(outcome.server.connections, 2);
		assertUpdated(outcome);
		const { rig, reason } = run({ answer: () => ({ head: "", ending: "stall" }) });
		assert.match(reason ?? "", /nothing was received for 30 s/);
		assertUnharmed(rig);
	});
});

describe("throughput", () => {
	for (const hasRanges of [true, false])
		test(`below the minimum ends the update within 5 minutes, ${hasRanges ? "in parts" : "as a stream"}`, () => {
			const startedAt = clock.now;
			const { rig, server, reason } = run({ segmentBytes: 16, segmentMs: 1_500, hasRanges });
			assert.match(reason ?? "", /^The download failed at byte 0 of \d+: the server sends too slowly\.$/);
			assert.ok(clock.now - startedAt < 300_000, `${clock.now - startedAt} ms`);
			assert.equal(server.connections, 6);
			assertUnharmed(rig);
		});

	test("of a response head that trickles ends the update within 5 minutes", () => {
		const startedAt = clock.now;
		const { rig, reason } = run({ segmentBytes: 1, segmentMs: 1_000 });
		assert.match(reason ?? "", /is unreachable after 6 attempts: nothing was received for 30 s\.$/);
		assert.ok(clock.now - startedAt < 300_000, `${clock.now - startedAt} ms`);
		assertUnharmed(rig);
	});

	test("of 4 KB/s with a latency of 1 s is enough, without a lost connection", () => {
		const outcome = run({ segmentBytes: 1_440, segmentMs: 360, delayMs: 1_000 });
		assert.equal(outcome.server.connections, 1);
		assertUpdated(outcome);
	});

	test("just above the minimum ends the update of a full slot at the first block after an hour", () => {
		const rig = new Rig({ firmware: oldFirmware });
		const startedAt = clock.now;
		rig.begin(
			new MemoryServer({ file: makeFirmware("2.0.0", 2_090_000), segmentBytes: 560, segmentMs: 1_000 }),
		);
		clock.runUntil(() => rig.updater?.isRunning === false, 4_000_000);
		assert.deepEqual(rig.messages.at(-1), {
			type: "ota_error",
			reason: "The update did not complete within 60 minutes.",
		});
		const minutes = (clock.now - startedAt) / 60_000;
		assert.ok(minutes > 60 && minutes < 61, `${minutes} minutes`);
		assertUnharmed(rig);
	});
});

describe("slow line", () => {
	test("with responses longer than the stall timeout receives a block per connection", () => {
		const outcome = run({ delayMs: 5_000 });
		assert.equal(outcome.server.connections, blocks);
		assertUpdated(outcome);
	});

	for (const [what, bytes, connections] of [
		["after a block completes", 18_000, 7],
		["before a block does not complete", 9_000, 6],
	] as const)
		test(`that loses each connection ${what} an update`, () => {
			const faults = Array.from({ length: 6 }, (_, nth): Fault => ({ at: (nth + 1) * bytes, kind: "cut" }));
			const outcome = run({ faults });
			assert.equal(outcome.server.connections, connections);
			if (connections > 6) return assertUpdated(outcome);
			assert.match(
				outcome.reason ?? "",
				/^The download failed at byte \d+ of \d+: the connection broke off\.$/,
			);
			assertUnharmed(outcome.rig);
		});
});

describe("update while the gateway is disconnected", () => {
	/** Disconnects server and gateway in the middle of an update. */
	function interrupted() {
		const rig = new Rig({ firmware: oldFirmware });
		const server = new MemoryServer({ file: newFirmware, faults: [{ at: wireBytes / 2, kind: "cut" }] });
		const updater = rig.begin(server);
		clock.runUntil(() => server.sentBytes > wireBytes / 3, 60_000);
		rig.isOnline = false;
		server.isDown = true;
		const isOver = () => rig.restarts > 0 || rig.messages.some(({ type }) => type === "ota_error");
		return { rig, server, updater, isOver };
	}

	test("waits and resumes after the reconnection", () => {
		const { rig, server, updater, isOver } = interrupted();
		clock.pass(500_000);
		assert.equal(isOver(), false);
		assert.equal(server.connections, 1, "no attempt while disconnected");
		rig.isOnline = true;
		server.isDown = false;
		updater.resume();
		clock.runUntil(isOver, 60_000);
		assert.ok(server.bodyBytes <= newFirmware.length + blockBytes, `${server.bodyBytes} bytes sent`);
		assertUpdated({ rig, reason: undefined });
	});

	test("ends after 10 minutes", () => {
		const { rig, isOver } = interrupted();
		clock.pass(590_000);
		assert.equal(isOver(), false);
		clock.runUntil(isOver, 20_000);
		assertUnharmed(rig);
	});

	test("ends after 10 minutes without a byte even if the connection returns in between", () => {
		const { rig, updater, isOver } = interrupted();
		for (let minute = 0; minute < 9; minute++) {
			clock.pass(60_000);
			updater.resume();
		}
		assert.equal(isOver(), false);
		clock.runUntil(isOver, 120_000);
		assertUnharmed(rig);
	});

	test("restarts the 10 minutes with each block", () => {
		const rig = new Rig({ firmware: oldFirmware });
		const cuts = [1 / 2, 3 / 4].map((part): Fault => ({ at: wireBytes * part, kind: "cut" }));
		const server = new MemoryServer({ file: newFirmware, faults: cuts });
		const updater = rig.begin(server);
		for (const part of [1 / 3, 2 / 3]) {
			clock.runUntil(() => server.sentBytes > wireBytes * part, 60_000);
			rig.isOnline = false;
			server.isDown = true;
			clock.pass(400_000);
			rig.isOnline = true;
			server.isDown = false;
			updater.resume();
		}
		clock.runUntil(() => rig.restarts > 0, 60_000);
		assertUpdated({ rig, reason: undefined });
	});
});

describe("flash", () => {
	test("writes at most 4 KiB per turn, in parts and as a stream, so that ring and reports continue", () => {
		for (const hasRanges of [true, false]) {
			const turns = new Map<number, number>();
			const outcome = run({ hasRanges }, ({ before }) => {
				before.write = ({ length }) => void turns.set(clock.turns, (turns.get(clock.turns) ?? 0) + length);
			});
			assertUpdated(outcome);
			assert.equal(Math.max(...turns.values()), 4096);
		}
	});

	test("writes the rest of the last block even if the server closes the connection after it", () => {
		const file = makeFirmware("2.0.0", 190_000);
		const last = Math.ceil(file.length / blockBytes) - 1;
		assert.ok(file.length % blockBytes > 8192, "several pieces");
		const { server, reason } = run({ file, endAfter: last }, ({ before }) => {
			before.write = () => clock.spend(50);
		});
		assert.equal(reason, undefined);
		assert.equal(server.requests.length, last + 1);
	});
});

describe("corruption in transit", () => {
	for (const kind of ["lose", "double", "flip"] as const)
		test(`of a ${{ lose: "lost", double: "doubled", flip: "flipped" }[kind]} byte at 12 random positions is repaired within its block`, () => {
			for (const at of spread(12, wireBytes, kind.length)) {
				const outcome = run({ faults: [{ at, kind }] });
				assert.equal(outcome.server.faultsLeft, 0);
				assert.ok(
					outcome.server.bodyBytes <= newFirmware.length + 2 * blockBytes,
					`${kind} at ${at} cost ${outcome.server.bodyBytes - newFirmware.length} bytes`,
				);
				assertUpdated(outcome);
			}
		});

	test("is detected even if the next block arrives before the damaged one was verified", () => {
		for (const at of spread(10, wireBytes, 9)) {
			const outcome = run({ isInstant: true, faults: [{ at, kind: "flip" }] });
			assert.equal(outcome.server.faultsLeft, 0);
			assertUpdated(outcome);
		}
	});

	test("is detected in a short last block whose connection ends right after it", () => {
		for (const isInstant of [false, true]) {
			const { heads } = run({ isInstant }).server;
			const [, bodyStart = 0] = heads.at(-1) ?? [];
			const faults = [{ at: bodyStart + 100, kind: "flip" }] as const;
			const outcome = run({ isInstant, faults, endAfter: heads.length - 1 });
			assert.equal(outcome.server.faultsLeft, 0);
			assert.equal(outcome.server.requests.length, heads.length + 1, "only that block is fetched again");
			assertUpdated(outcome);
		}
	});

	test("of a response head is repaired", () => {
		const file = makeFirmware("2.0.0", 40_000);
		const { heads } = run({ file }).server;
		const kinds = ["lose", "double", "flip"] as const;
		for (const [index, [start, end]] of heads.slice(0, 2).entries())
			for (const kind of kinds)
				for (let at = start + 3 * kinds.indexOf(kind); at < end; at += 11) {
					const { rig, reason } = run({ file, faults: [{ at, kind }] });
					rig.restart();
					// Nothing can correct the firmware's length and tag of the first response.
					const isUpdated = reason === undefined || index > 0;
					assert.equal(rig.boot.image.version, isUpdated ? "2.0.0" : "1.0.0", `${kind} at ${at}: ${reason}`);
				}
	});

	/** Sends a wrong digest `times` times for each block, by the block's first byte. */
	const damage = (times: Map<number, number>): NonNullable<ServerOptions["answer"]> => {
		return (request) => {
			const [first = 0, last = 0] = (request.headers.get("range") ?? "").match(/\d+/g)?.map(Number) ?? [];
			const left = times.get(first) ?? 0;
			times.set(first, left - 1);
			if (left <= 0) return undefined;
			const fields = {
				"Content-Range": `bytes ${first}-${last}/${newFirmware.length}`,
				"Content-Length": String(blockBytes),
				"Content-Digest": `sha-256=:${"A".repeat(43)}=:`,
				ETag: request.headers.get("if-range") ?? "",
			};
			return { head: head(206, fields), body: newFirmware.subarray(first, last + 1) };
		};
	};

	test("is repaired in each of five blocks", () => {
		const times = new Map([1, 3, 5, 7, 9].map((block) => [block * blockBytes, 1]));
		const outcome = run({ answer: damage(times) });
		assert.equal(outcome.server.connections, 6, "a connection that lost bytes is not reused");
		assertUpdated(outcome);
	});

	test("is tolerated three times in the same block and ends the update the fourth time", () => {
		const first = 2 * blockBytes;
		assertUpdated(run({ answer: damage(new Map([[first, 3]])) }));
		const { rig, server, reason } = run({ answer: damage(new Map([[first, 4]])) });
		assert.match(reason ?? "", /^The firmware was received damaged 4 times at byte 32768 of \d+\.$/);
		const again = `bytes=${first}-${first + blockBytes - 1}`;
		assert.equal(server.requests.filter(({ headers }) => headers.get("range") === again).length, 4);
		assertUnharmed(rig);
	});

	test("in a stream without digests is detected at its end by the verification of flash", () => {
		const faults = [{ at: 100_000, kind: "flip" }] as const;
		const { rig, reason } = run({ hasRanges: false, hasDigests: false, faults });
		assert.match(reason ?? "", /^The device rejected the firmware: The image is damaged/);
		assertUnharmed(rig);
	});
});

describe("server that", () => {
	const total = newFirmware.length;
	const part = (fields: Readonly<Record<string, string>>, body = newFirmware.subarray(0, blockBytes)) => ({
		head: head(206, {
			"Content-Range": `bytes 0-${blockBytes - 1}/${total}`,
			"Content-Length": String(body.length),
			...fields,
		}),
		body,
	});
	const otherPart = (request: { headers: ReadonlyMap<string, string> }) =>
		request.headers.get("range") !== `bytes=0-${blockBytes - 1}`;

	type Answer = NonNullable<ServerOptions["answer"]>;
	const reply = (
		status: number,
		fields: Readonly<Record<string, string>> = {},
		body?: Uint8Array,
	): Answer => {
		return () => ({ head: head(status, fields), ...(body && { body }) });
	};
	const raw = (text: string): Answer => {
		return () => ({ head: text });
	};
	/** The first block is right. */
	const later = (answer: Answer): Answer => {
		return (request, index) => (otherPart(request) ? answer(request, index) : undefined);
	};
	const range = (text: string, body?: Buffer): Answer => {
		return () => part({ "Content-Range": text }, body);
	};
	const page = Buffer.alloc(600, "<html>");
	const short: Answer = () => part({ "Content-Length": String(blockBytes) }, newFirmware.subarray(0, 100));

	for (const [name, expected, requests, answer] of [
		["sends 404", /answered 404: there is no firmware at this address/, 1, reply(404)],
		["sends 410", /answered 410: the firmware at this address was replaced/, 1, reply(410)],
		["sends 401", /answered 401: it does not give the firmware/, 1, reply(401)],
		["sends 404 in the middle", /answered 404/, 2, later(reply(404))],
		["sends 500 twice", /answered 500: it failed/, 2, reply(500)],
		["sends 408 twice", /answered 408/, 2, reply(408)],
		["sends 429 twice", /answered 429: it has too much to do/, 2, reply(429)],
		["redirects", /answered 302, a redirect/, 1, reply(302, { Location: "http://elsewhere/" })],
		["sends 204", /answered 204/, 2, reply(204)],
		["sends garbage", /unreachable after 6 attempts: the response is not HTTP/, 6, raw("\x00\xffx\r\n\r\n")],
		["has no reason phrase", /does not send the length/, 1, raw("HTTP/1.1 200\r\n\r\n")],
		["sends an HTML page", /is not a firmware image/, 1, reply(200, { "Content-Length": "600" }, page)],
		["sends chunks", /with chunked encoding, without/, 2, reply(200, { "Transfer-Encoding": "chunked" })],
		["sends no length", /does not send the length/, 1, reply(200, {}, newFirmware)],
		["has an empty file", /is empty/, 1, reply(200, { "Content-Length": "0" })],
		["has an empty file, and ranges", /is empty/, 1, reply(416, { "Content-Range": "bytes */0" })],
		["sends a 206 without Content-Range", /sends no valid Content-Range/, 2, range("")],
		["sends an invalid Content-Range", /sends no valid Content-Range/, 2, range("bytes 9-3/5")],
		["sends another range", /a different range/, 2, range(`bytes 1-${blockBytes}/${total}`)],
		["sends tiny parts", /sends less of the/, 2, range(`bytes 0-0/${total}`, newFirmware.subarray(0, 1))],
		["sends less than it announced", /at byte 0 of \d+: nothing was received for 30 s/, 6, short],
		[
			"has too large a firmware",
			/has 9000000 bytes; the slot holds 2097152/,
			2,
			range("bytes 0-16383/9000000"),
		],
		["truncates the firmware", /was replaced during/, 3, later(reply(416, { "Content-Range": "bytes */5" }))],
		[
			"stops supporting ranges",
			/was replaced during/,
			3,
			later(reply(200, { "Content-Length": "600" }, page)),
		],
	] as const)
		test(`${name} ends the update with that reason`, () => {
			const { rig, server, reason } = run({ answer });
			assert.match(reason ?? "", expected);
			assert.equal(server.requests.length, requests);
			assertUnharmed(rig);
		});

	test("fails once at each of two positions is retried", () => {
		for (const status of [500, 503, 408, 429])
			assertUpdated(
				run({ answer: (_, index) => ([2, 5].includes(index) ? { head: head(status, {}) } : undefined) }),
			);
	});

	test("sends bytes after the last response has no effect", () => {
		const start = (blocks - 1) * blockBytes;
		const rest = newFirmware.subarray(start);
		const fields = {
			"Content-Range": `bytes ${start}-${total - 1}/${total}`,
			"Content-Length": String(rest.length),
		};
		const last = part(fields, Buffer.concat([rest, Buffer.from("\r\n")]));
		const answer: Answer = (_, index) => (index === blocks - 1 ? last : undefined);
		const outcome = run({ hasETags: false, answer });
		assertUpdated(outcome);
		assert.equal(outcome.server.requests.length, blocks);
	});

	test("fails with another error each time is not retried forever", () => {
		const { rig, server, reason } = run({
			answer: (_, index): RawAnswer => ({ head: head(index % 2 ? 500 : 429, {}) }),
		});
		assert.match(reason ?? "", /answered (500|429)/);
		assert.ok(server.requests.length <= 6, `${server.requests.length} requests`);
		assertUnharmed(rig);
	});

	test("replaces the firmware in the middle ends the update, in parts and as a stream", () => {
		const other = makeFirmware("3.0.0", 200_000);
		for (const hasRanges of [true, false]) {
			const rig = new Rig({ firmware: oldFirmware });
			const answer = (_: unknown, index: number) => {
				if (index === (hasRanges ? 3 : 1)) server.file = other;
				return undefined;
			};
			const faults = [{ at: 70_000, kind: "cut" }] as const;
			const server = new MemoryServer({ file: newFirmware, hasRanges, faults, answer });
			assert.match(rig.update(server) ?? "", /was replaced during the download/);
			assertUnharmed(rig);
		}
	});
});
