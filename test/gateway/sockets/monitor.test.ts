import assert from "node:assert/strict";
import { createServer } from "node:http";
import { Duplex } from "node:stream";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { WebSocket, WebSocketServer } from "ws";
import { createCore } from "../../../gateway/core.js";
import { createYield } from "../../../gateway/event-loop.js";
import { socketLimits } from "../../../gateway/limits.js";
import { Monitor } from "../../../gateway/sockets/monitor.js";
import type { MonitorSockets } from "../../../gateway/sockets/monitor-sockets.js";
import { textFrame } from "../../../gateway/sockets/text-frame.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { onEnd } from "../../support/cleanup.js";
import { nextEvent, waitUntil } from "../../support/eventually.js";
import { listen } from "../../support/ports.js";
import { makeDevice } from "../../support/record-stubs.js";

const reader = { remoteAddress: "127.0.0.1", findPerson: async () => undefined };

/**
 * Creates a socket and its client.
 *
 * @param held replaces the stream; the client then receives nothing
 */
async function upgraded(t: TestContext, held?: Duplex, perMessageDeflate = false) {
	const server = createServer();
	const sockets = new WebSocketServer({ noServer: true, perMessageDeflate });
	const client = new WebSocket(`ws://127.0.0.1:${await listen(t, server)}`);
	client.on("error", () => {});
	onEnd(t, () => client.terminate());
	const [request, connection, head] = await nextEvent(server, "upgrade");
	const stream = held ?? connection;
	const socket = await new Promise<WebSocket>((resolve) =>
		sockets.handleUpgrade(request, stream, head, resolve),
	);
	return { socket, stream, client };
}

/** Creates a monitor with the parameters of `upgraded`. */
async function connected(t: TestContext, held?: Duplex, perMessageDeflate = false) {
	const { socket, stream, client } = await upgraded(t, held, perMessageDeflate);
	const monitor = new Monitor({
		socket,
		stream,
		client: reader,
		limits: socketLimits,
		yieldToLoop: createYield(),
	});
	return { monitor, client };
}

test("delivers frames of any length unchanged and in order with compressed ones", async (t) => {
	const { monitor, client } = await connected(t, undefined, true);
	const texts = [0, 1, 125, 126, 127, 65_535, 65_536, 100_000].map((length) =>
		"é".repeat(length / 2).padEnd(length, "x"),
	);
	const received: string[] = [];
	client.on("message", (data) => received.push(data.toString()));
	for (const text of texts) {
		monitor.send(Buffer.from(`compressed ${text}`), true);
		monitor.sendChange("one-session", textFrame(text));
	}
	monitor.send(Buffer.from("end"));
	await waitUntil(() => received.at(-1) === "end");
	for (const text of texts) monitor.sendChange("one-session", textFrame(text));
	monitor.send(Buffer.from("the end"));
	await waitUntil(() => received.at(-1) === "the end");
	const alternating = texts.flatMap((text) => [`compressed ${text}`, text]);
	assert.deepEqual(received, [...alternating, "end", ...texts, "the end"]);
});

test("does not count many messages in one event loop turn as slow reading", async (t) => {
	const { monitor, client } = await connected(t);
	const frame = textFrame("x".repeat(16 * 1024));
	// Two thirds of a socket's buffer on Linux.
	const count = Math.ceil((1.5 * socketLimits.slowMonitorBytes) / frame.length);
	const received = new Promise<void>((resolve) => {
		let frames = 0;
		client.on("message", () => void (++frames === count && resolve()));
	});
	monitor.cork();
	for (let index = 0; index < count; index++) monitor.relay("one-session", frame, false);
	monitor.uncork();
	await received;
});

/** Socket whose peer reads only on request. */
function heldStream() {
	const written: { readonly text: string; readonly done: () => void }[] = [];
	const stream = new Duplex({
		read() {},
		write: (bytes, _encoding, done) => void written.push({ text: bytes.toString("latin1"), done }),
	});
	/** Reads until writing stops. @returns what was read */
	const read = async () => {
		let text = "";
		for (let idle = 0; idle < 20; idle += 1) {
			for (let chunk = written.shift(); chunk; chunk = written.shift()) {
				idle = 0;
				text += chunk.text;
				chunk.done();
			}
			await setImmediate();
		}
		return text;
	};
	return { stream, read };
}

test("sends the whole summary to a monitor that missed a change, once it has caught up", async (t) => {
	const { stream, read } = heldStream();
	const { monitor } = await connected(t, stream);
	monitor.summary = { snapshot: () => ['{"reason":"snapshot"}'].values() };
	monitor.devices = new Set();
	monitor.sendSummary(Buffer.from("in time"));
	let all = await read();
	while (monitor.unsentBytes <= socketLimits.slowMonitorBytes) monitor.send(Buffer.alloc(64 * 1024, "x"));
	const unread = monitor.unsentBytes;
	for (let count = 0; count < 100; count += 1) monitor.sendSummary(Buffer.alloc(64 * 1024, "late "));
	assert.equal(monitor.unsentBytes, unread, "nothing waits for it");
	all += await read();
	monitor.sendSummary(Buffer.from("in time again"));
	all += await read();
	assert.equal(all.match(/"reason":"snapshot"/g)?.length, 1);
	assert.doesNotMatch(all, /late/);
	assert.match(all, /in time.*"reason":"snapshot".*in time again/s);
});

test("sends a slow monitor each change and only the newest report of each session, none older than a change", async (t) => {
	const { stream, read } = heldStream();
	const { monitor } = await connected(t, stream);
	await read();
	while (monitor.unsentBytes <= socketLimits.slowMonitorBytes) monitor.send(Buffer.alloc(64 * 1024, "x"));
	for (const text of ["report a1", "report a2"]) monitor.relay("a", textFrame(text), true);
	monitor.relay("a", textFrame("progress a"), false);
	monitor.relay("b", textFrame("report b1"), true);
	monitor.sendChange("b", textFrame("change b"));
	monitor.send(Buffer.from("answer"));
	const texts = (await read()).match(/(report|progress|change|answer)( \w\d?)?/g);
	assert.deepEqual(texts, ["change b", "answer", "report a2"]);
	monitor.relay("a", textFrame("report a3"), true);
	assert.match(await read(), /report a3/);
});

test("closes a monitor with 1013 when its backlog is too long", async (t) => {
	const { stream, read } = heldStream();
	const { monitor } = await connected(t, stream);
	await read();
	while (monitor.unsentBytes <= socketLimits.stuckMonitorBytes) monitor.send(Buffer.alloc(1024 * 1024));
	monitor.relay("a", textFrame("report"), true);
	assert.ok((await read()).endsWith("\x03\xf5reading too slowly"), "no close frame with 1013");
});

test("pauses a snapshot while the backlog is long", async (t) => {
	const written: (() => void)[] = [];
	const stream = new Duplex({ read() {}, write: (_bytes, _encoding, done) => void written.push(done) });
	const { monitor } = await connected(t, stream);
	const unreadWhenAsked: number[] = [];
	function* frames() {
		for (;;) {
			unreadWhenAsked.push(monitor.unsentBytes);
			yield "x".repeat(1024);
		}
	}
	monitor.sendSnapshot(frames());
	while (monitor.unsentBytes < 0.9 * socketLimits.slowMonitorBytes)
		monitor.relay("one-session", textFrame("x".repeat(16 * 1024)), false);
	while (unreadWhenAsked.length < 10) {
		written.shift()?.();
		await setImmediate();
	}
	const most = Math.max(...unreadWhenAsked);
	assert.ok(most <= socketLimits.slowMonitorBytes / 2, `${most} bytes`);
	assert.ok(most > socketLimits.slowMonitorBytes / 4, "and does not wait for all");
});

/** Connects a monitor. @returns the number of bytes in each write after its snapshot */
async function recordWrites(t: TestContext, monitors: MonitorSockets): Promise<readonly number[]> {
	const writes: number[] = [];
	const stream = new Duplex({
		read() {},
		write: (bytes, _encoding, done) => {
			writes.push(bytes.length);
			done();
		},
		writev: (parts, done) => {
			writes.push(parts.reduce((sum, { chunk }) => sum + chunk.length, 0));
			done();
		},
	});
	monitors.accept((await upgraded(t, stream)).socket, stream, reader, new Set());
	await setImmediate();
	writes.length = 0;
	return writes;
}

test("sends the frames of a turn in one write to each monitor", async (t) => {
	const { core } = createCore({ log: createLog("silent") }, () => 0);
	const { session } = makeDevice("dev-1-a1b2c3");
	const streams = [await recordWrites(t, core.monitors), await recordWrites(t, core.monitors)];
	for (const count of [1, 3, 20]) {
		for (let index = 0; index < count; index++) core.monitors.relay(session, Buffer.from("{}"), true);
		await setImmediate();
	}
	for (const writes of streams) {
		const [frameBytes = 0] = writes;
		assert.deepEqual(
			writes.map((bytes) => bytes / frameBytes),
			[1, 3, 20],
		);
	}
});
