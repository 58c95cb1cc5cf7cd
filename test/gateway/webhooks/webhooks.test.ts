/** Events of webhooks and their delivery, in virtual time. */

import assert from "node:assert/strict";
import fs, { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { pino } from "pino";
import { Webhook } from "standardwebhooks";
import { noCounts } from "../../../gateway/api/rollout.js";
import { parseTags } from "../../../gateway/api/tags.js";
import type { Core } from "../../../gateway/extension.js";
import { type Hook, readHooks } from "../../../gateway/webhooks/hooks.js";
import { Outbox } from "../../../gateway/webhooks/outbox.js";
import { eventually, waitUntil } from "../../support/eventually.js";
import { needs } from "../../support/extensions.js";
import { makeHandshake, silentLink } from "../../support/record-stubs.js";
import { bearer, type RunOptions, runGateway, temporaryDirectory } from "../../support/running.js";
import { checkMs, Receiver, secret, withHooks } from "./receiver.js";

const minuteMs = 60_000;
const deviceId = "dev-1-a1b2c3";
const startedAt = Date.parse("2026-11-27T12:00:00Z");

/** Clocks that tests advance, with the intervals of gateways. */
function virtualTime(t: TestContext) {
	t.mock.timers.enable({ apis: ["setInterval"] });
	let [wall, monotonic] = [startedAt, 0];
	const pass = (ms: number) => {
		wall += ms;
		monotonic += ms;
		t.mock.timers.tick(checkMs);
	};
	return {
		options: { now: () => wall, monotonic: () => monotonic },
		pass,
		set: (minutes: number) => {
			wall = startedAt + minutes * minuteMs;
		},
		/** Checks for due events until the condition is true. */
		until: (condition: () => unknown) =>
			waitUntil(condition, async () => {
				pass(0);
				await setTimeout(2);
			}),
	};
}

type Time = ReturnType<typeof virtualTime>;

async function begin(t: TestContext) {
	return { time: virtualTime(t), receiver: await new Receiver().listen(t) };
}

/** Starts a gateway, whose devices connect without sockets. */
async function run(t: TestContext, time: Time, hooks: readonly Hook[], options: RunOptions = {}) {
	const cores: Core[] = [];
	const running = await runGateway(t, { ...time.options, ...withHooks(hooks, cores), ...options });
	const [core] = cores;
	assert.ok(core, "the gateway has no core");
	const { sessions } = core;
	return {
		...running,
		core,
		/** @returns a function that ends the connection */
		connect: (id = deviceId) => {
			const session = sessions.open(makeHandshake(id), silentLink);
			return () => void sessions.end(session, "disconnected");
		},
		reject: (id?: string, isTemporary = false) =>
			core.events.emit(
				"rejected",
				{ what: "connection", deviceId: id, remoteAddress: "10.0.0.1", reason: "No token." },
				isTemporary,
			),
		hooks: async () => (await running.api("GET", "/api/webhooks")).body.webhooks,
	};
}

const eventsOf = ({ received }: Receiver) => received.map(({ event }) => event);
/** Minutes from the start to the creation of each event. */
const minutesOf = ({ received }: Receiver) =>
	received.map(({ time }) => (Date.parse(time) - startedAt) / minuteMs);
/** Minutes from the start to each attempt. */
const attemptsOf = ({ signed }: Receiver) =>
	signed.map(({ headers }) => (Number(headers["webhook-timestamp"]) * 1000 - startedAt) / minuteMs);

test("sends one signed event each when a device is offline for longer than `after` and when it returns", async (t) => {
	const { time, receiver } = await begin(t);
	const { connect } = await run(t, time, [receiver.hook({ after: 5 })]);
	connect()();
	time.pass(4 * minuteMs);
	connect()();
	time.pass(5 * minuteMs - 1);
	time.pass(1);
	await time.until(() => receiver.received.length === 1);
	time.pass(10 * minuteMs);
	const leave = connect();
	await time.until(() => receiver.received.length === 2);
	leave();
	time.pass(5 * minuteMs);
	await time.until(() => receiver.received.length === 3);
	assert.deepEqual(eventsOf(receiver), ["away", "back", "away"]);
	assert.deepEqual(minutesOf(receiver), [9, 19, 24]);
	const [away, back] = receiver.received;
	assert.equal(away?.text, "dev-1-a1b2c3 has been away since 2026-11-27T12:04:00.000Z.");
	const device = { name: null, room: null, tags: [], model: null, firmwareVersion: null };
	assert.deepEqual(away?.device, { deviceId, ...device });
	assert.notEqual(back?.id, away?.id);
	assert.deepEqual(receiver.forged, []);
});

test("sends no event for a restart of the gateway, except for devices that do not return", async (t) => {
	const { time, receiver } = await begin(t);
	const options = { dataDir: await temporaryDirectory(t) };
	const hooks = [receiver.hook({ after: 5 })];
	const first = await run(t, time, hooks, options);
	first.connect("dev-1-00000a")();
	time.pass(6 * minuteMs);
	await time.until(() => receiver.received.length === 1);
	first.connect();
	await first.gateway.close();
	const jobs = [{ status: "rolled_back", version: "1.4.0", startedAt, endedAt: startedAt }];
	await writeFile(join(options.dataDir, "updates", `${deviceId}.json`), JSON.stringify({ jobs }));
	time.pass(20 * minuteMs);
	const second = await run(t, time, hooks, options);
	time.pass(4 * minuteMs);
	const leave = second.connect();
	time.pass(10 * minuteMs);
	leave();
	await second.gateway.close();
	const third = await run(t, time, hooks, options);
	time.pass(5 * minuteMs);
	await time.until(() => receiver.received.length === 2);
	third.connect("dev-1-00000a");
	await time.until(() => receiver.received.length === 3);
	const events = receiver.received.map(({ event, device }) => `${event} ${Object(device).deviceId}`);
	assert.deepEqual(events, ["away dev-1-00000a", `away ${deviceId}`, "back dev-1-00000a"]);
	assert.deepEqual(minutesOf(receiver), [6, 45, 45]);
});

for (const manner of [500, "redirects"] as const)
	test(`retries a receiver that answers ${manner} 5 times within an hour, across restarts, with the same bytes`, async (t) => {
		const time = virtualTime(t);
		const receiver = await new Receiver().listen(t);
		receiver.manner = manner;
		const options = { dataDir: await temporaryDirectory(t) };
		const first = await run(t, time, [receiver.hook()], options);
		first.reject();
		const readHook = async () => (await first.hooks())[0];
		const { latest } = await eventually(readHook, (hook) => hook.latest !== null);
		const status = manner === 500 ? 500 : 307;
		assert.deepEqual(latest, { at: "2026-11-27T12:00:00.000Z", status, problem: null });
		await first.gateway.close();
		const second = await run(t, time, [receiver.hook()], options);
		for (const [index, minutes] of [1, 4, 15, 40].entries()) {
			time.pass(minutes * minuteMs - 1);
			time.pass(1);
			await time.until(() => receiver.received.length === index + 2);
		}
		await eventually(second.hooks, ([hook]) => hook.waiting === 0);
		assert.deepEqual(attemptsOf(receiver), [0, 1, 5, 20, 60]);
		assert.equal(new Set(receiver.signed.map(({ body }) => body)).size, 1);
		assert.deepEqual(receiver.forged, []);
	});

test("sends queued events in order after the clock was three days ahead", async (t) => {
	const { time, receiver } = await begin(t);
	receiver.manner = 500;
	const options = { dataDir: await temporaryDirectory(t) };
	time.set(3 * 24 * 60);
	const first = await run(t, time, [receiver.hook()], options);
	first.connect()();
	time.pass(6 * minuteMs);
	await time.until(() => receiver.received.length === 1);
	await eventually(first.hooks, ([hook]) => hook.latest !== null);
	await first.gateway.close();
	time.set(0);
	receiver.manner = 204;
	(await run(t, time, [receiver.hook()], options)).connect();
	await time.until(() => receiver.received.length === 3);
	assert.deepEqual(eventsOf(receiver), ["away", "away", "back"]);
});

test("isolates unresponsive receivers, and keeps the order of events per device", async (t) => {
	const time = virtualTime(t);
	const [silent, well] = [await new Receiver().listen(t), await new Receiver().listen(t)];
	silent.manner = "waits";
	const numbered = [silent.hook(), well.hook({ url: "http://127.0.0.1:9/" }), well.hook()];
	const { connect, hooks } = await run(
		t,
		time,
		numbered.map((hook, index) => ({ ...hook, id: `000000000000000${index}` })),
		{ limits: { webhookAnswerMs: 1000 } },
	);
	connect()();
	time.pass(6 * minuteMs);
	await time.until(() => well.received.length === 1);
	await eventually(hooks, ([first, second]) => first.waiting === 1 && second.waiting === 1);
	connect();
	await time.until(() => well.received.length === 2);
	assert.deepEqual(eventsOf(well), ["away", "back"]);
	const [first, second, third] = await eventually(
		hooks,
		([first, second]) => first.latest !== null && second.latest !== null && second.waiting > 1,
	);
	assert.equal(first.latest.problem, "no answer within 1 s");
	assert.equal(second.latest.status, null);
	assert.deepEqual([first.waiting, second.waiting, third.waiting], [2, 2, 0]);
	assert.equal(silent.received.length, 1, "the second waits for the first");
	silent.manner = 200;
	time.pass(2 * minuteMs);
	await time.until(() => silent.received.length === 3);
	assert.deepEqual(eventsOf(silent), ["away", "away", "back"]);
});

test("sends each event of a device, a schedule or a rejection, once or as often as it happens", async (t) => {
	const { time, receiver } = await begin(t);
	const { core, connect, reject, hooks } = await run(t, time, [receiver.hook()]);
	connect();
	const device = core.sessions.devices.get(deviceId);
	assert.ok(device, `${deviceId} is unknown`);
	const none = { message: "no", stack: "", uptime_seconds: 5, trace: "" };
	const crash = { id: "c1", kind: "exception", firmware_version: "1.0.0", ...none } as const;
	core.events.emit("crash", device, crash);
	const update = { otaPercent: 100, otaVersion: "1.4.0", otaReason: "It did not reach the gateway." };
	for (const otaStatus of ["rebooting", "rolled_back", "rolled_back"] as const)
		core.sessions.setOta(device, { ...update, otaStatus });
	const dueAt = "2026-11-27T16:50:00.000Z";
	const schedule = { id: "5f0c21b7", name: null, outcome: "missed", dueAt, reason: "No one ran." } as const;
	core.events.emit("scheduleFailed", schedule);
	reject("dev-1-eeeeee", true);
	for (let attempt = 0; attempt < 3; attempt += 1) reject("dev-1-ffffff");
	await time.until(() => receiver.received.length === 4);
	time.pass(60 * minuteMs);
	reject("dev-1-ffffff");
	await time.until(() => receiver.received.length === 5);
	await eventually(hooks, ([hook]) => hook.waiting === 0);
	const fields = receiver.received.map(({ id: _, time: __, text: ___, device: ____, ...rest }) => rest);
	const rejected = { deviceId: "dev-1-ffffff", remoteAddress: "10.0.0.1", reason: "No token." };
	const byEvent = (a: object, b: object) => JSON.stringify(a).localeCompare(JSON.stringify(b));
	const expected = [
		{ event: "crashed", crash: { id: "c1", kind: "exception", version: "1.0.0" } },
		{ event: "rolled_back", version: "1.4.0", reason: update.otaReason },
		{ event: "schedule_failed", schedule },
		{ event: "rejected", ...rejected },
		{ event: "rejected", ...rejected },
	].sort(byEvent);
	assert.deepEqual(fields.sort(byEvent), expected);
});

test("sends paused and finished rollouts once", async (t) => {
	const { time, receiver } = await begin(t);
	const { core, hooks } = await run(t, time, [receiver.hook()]);
	const counts = { ...noCounts, succeeded: 3, rolled_back: 2 };
	const frame = (status: "running" | "paused" | "finished", revision: number) => {
		const pausedBecause = status === "paused" ? ("failures" as const) : null;
		const rest = { version: "1.4.0", id: "autumn", status, pausedBecause, counts, revision };
		core.events.emit("rollout", { type: "rollout_update", ...rest });
	};
	frame("running", 2);
	for (const revision of [3, 3, 4]) frame("paused", revision);
	await time.until(() => receiver.received.length === 1);
	frame("running", 5);
	frame("finished", 6);
	await time.until(() => receiver.received.length === 2);
	await eventually(hooks, ([hook]) => hook.waiting === 0);
	assert.deepEqual(eventsOf(receiver), ["rollout_paused", "rollout_finished"]);
	const paused = { id: "autumn", status: "paused", pausedBecause: "failures", counts };
	assert.deepEqual(receiver.received[0]?.rollout, paused);
	assert.match(String(receiver.received[0]?.text), /3 updated, 2 failed/);
});

test("sends a full disk once until it has recovered", async (t) => {
	const { time, receiver } = await begin(t);
	let [isFull, checks] = [true, 0];
	const statfs = new Proxy(fs.statfs, {
		apply: async (target, self, words: unknown[]) => {
			const changed = isFull ? { bavail: 0 } : {};
			const space = await Reflect.apply(target, self, words);
			checks += 1;
			return { ...space, ...changed };
		},
	});
	await run(t, time, [receiver.hook()], { disk: { ...fs, statfs } });
	for (let minute = 0; minute < 6; minute += 1) {
		isFull = minute !== 3;
		const before = checks;
		time.pass(minuteMs);
		await time.until(() => checks > before && receiver.received.length === (minute < 4 ? 1 : 2));
	}
	assert.deepEqual(eventsOf(receiver), ["disk_full", "disk_full"]);
});

const ofFleet = needs("fleet");
test("sends an event for a new crash cause once, besides one for each crash", ofFleet, async (t) => {
	const receiver = await new Receiver().listen(t);
	const gateway = await runGateway(t, withHooks([receiver.hook({ events: ["crash_new"] })]));
	const stack = "at onButton (device/rules.ts:31)";
	const crash = { kind: "exception", stack, firmware_version: "1.4.0", uptime_seconds: 5, trace: "" };
	for (const [id, message] of Object.entries({ a1: "no face 7", a2: "no face 8", a3: "no volume" })) {
		// Resolved once per connection.
		const device = await gateway.device({ "Device-Id": deviceId, "Device-Features": "crash" });
		assert.equal((await device.next()).command, "query_crash");
		device.send({ type: "crash_report", deviceId, crash: { id, message, ...crash } });
		assert.deepEqual(await device.next(), { command: "clear_crash", id });
	}
	const [first, second] = await receiver.until(2);
	assert.equal(first?.event, "crash_new");
	const { id, ...cause } = Object(first?.cause);
	assert.match(String(id), /^[0-9a-f]{16}$/);
	const frames = ["onButton (device/rules.ts)"];
	assert.deepEqual(cause, { kind: "exception", message: "no face 7", frames, version: "1.4.0" });
	assert.match(String(first?.text), /^dev-1-\w+ has crashed in a new way on 1\.4\.0: no face 7 in onButton/);
	assert.equal(Object(second?.cause).message, "no volume");
});

test("sends only subscribed events, lists hooks without secrets, and returns the status of a test", async (t) => {
	const { time, receiver } = await begin(t);
	const { api, reject, hooks } = await run(t, time, [receiver.hook({ events: ["back"] })]);
	reject();
	const { status, body } = await api("POST", "/api/webhooks/1/test");
	assert.deepEqual([status, body.status, body.problem], [200, 204, null]);
	receiver.manner = 410;
	assert.equal((await api("POST", "/api/webhooks/1/test")).body.status, 410);
	assert.deepEqual([eventsOf(receiver), receiver.forged], [["test", "test"], []]);
	const rest = { events: ["back"], tags: null, after: 5, ended: true, waiting: 0, latest: null };
	assert.deepEqual(await hooks(), [{ number: 1, origin: new URL(receiver.url).origin, ...rest }]);
	for (const number of ["0", "2", "-1", "1.0", "0x1", "NaN", "__proto__", "%00"])
		assert.equal((await api("POST", `/api/webhooks/${number}/test`)).status, 404, number);
});

test("filters events by tags, and sends the return of each device whose absence was sent", async (t) => {
	const time = virtualTime(t);
	const [shop, all] = [await new Receiver().listen(t), await new Receiver().listen(t)];
	const text = "shop and not beta";
	const { core, connect, hooks } = await run(t, time, [
		{ ...shop.hook({ tags: { text, expression: parseTags(text) } }), id: "0000000000000001" },
		{ ...all.hook(), id: "0000000000000002" },
	]);
	const label = (id: string, tags: readonly string[]) => {
		const device = core.sessions.devices.get(id);
		assert.ok(device, `${id} is unknown`);
		device.label = { tags };
	};
	const ids = ["dev-1-00000a", "dev-1-00000b", "dev-1-00000c"];
	for (const id of ids) connect(id)();
	for (const [index, tags] of [["shop"], ["beta", "shop"], []].entries()) label(ids[index] ?? "", tags);
	time.pass(6 * minuteMs);
	await time.until(() => all.received.length === 3 && shop.received.length === 1);
	assert.deepEqual(Object(shop.received[0]?.device).tags, ["shop"]);
	label("dev-1-00000a", ["beta", "shop"]);
	for (const id of ids) connect(id);
	await time.until(() => all.received.length === 6 && shop.received.length === 2);
	const told = shop.received.map(({ event, device }) => `${event} ${Object(device).deviceId}`);
	assert.deepEqual(told, ["away dev-1-00000a", "back dev-1-00000a"]);
	assert.equal((await hooks())[0].tags, text);
});

test("stops sending after 410 until the gateway restarts, and reports it", async (t) => {
	const time = virtualTime(t);
	const [gone, well] = [await new Receiver().listen(t), await new Receiver().listen(t)];
	const both = [gone.hook({ id: "0000000000000001" }), well.hook({ id: "0000000000000002" })];
	const options = { dataDir: await temporaryDirectory(t) };
	const first = await run(t, time, both, options);
	gone.manner = 500;
	first.reject("dev-1-00000a");
	await eventually(first.hooks, ([hook]) => hook.latest !== null);
	gone.manner = 410;
	first.reject("dev-1-00000b");
	time.pass(2 * minuteMs);
	await time.until(() => gone.received.length === 2);
	await eventually(first.hooks, ([hook]) => hook.ended && hook.waiting === 0);
	first.reject("dev-1-00000c");
	time.pass(60 * minuteMs);
	await time.until(() => well.received.length === 3);
	const tested = await first.api("POST", "/api/webhooks/1/test");
	assert.deepEqual([tested.status, gone.received.length, (await first.hooks())[1].ended], [409, 2, false]);
	if (!ofFleet.skip) {
		const { rejections } = (await first.api("GET", "/api/rejections")).body;
		const own = rejections.filter(({ what }: { what: string }) => what === "webhook");
		assert.deepEqual([own.length, own[0].remoteAddress], [1, new URL(gone.url).origin]);
	}
	assert.match(await first.core.metrics.registry.metrics(), /^gateway_ended_webhooks 1$/m);
	assert.equal((await first.api("GET", "/readyz")).status, 200);
	await first.gateway.close();
	gone.manner = 204;
	const second = await run(t, time, both, options);
	second.reject("dev-1-00000d");
	await time.until(() => gone.received.length === 3);
	const ids = gone.received.map((event) => event.deviceId);
	assert.deepEqual(ids, ["dev-1-00000a", "dev-1-00000a", "dev-1-00000d"]);
	await eventually(second.hooks, ([hook]) => !hook.ended && hook.waiting === 0);
});

async function openOutbox(t: TestContext, receiver: Receiver) {
	const { core } = await run(t, virtualTime(t), []);
	const lines: string[] = [];
	const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
	const outbox = new Outbox(receiver.hook(), { ...core, log, now: () => 0 });
	await outbox.open();
	t.after(() => outbox.close());
	return { outbox, lines };
}

test("sends the absence of a device that returns while its mark is written, before its return", async (t) => {
	const receiver = await new Receiver().listen(t);
	const { outbox } = await openOutbox(t, receiver);
	const away = outbox.add("device-a", { event: "away", text: "is away." }, "away-a");
	// In the same turn, since the write ends within a millisecond.
	for (let steps = 0; steps < 100 && !outbox.has("away-a"); steps += 1) await undefined;
	assert.equal(outbox.removeMark("away-a"), true);
	await Promise.all([away, outbox.add("device-a", { event: "back", text: "is back." })]);
	await waitUntil(() => {
		outbox.deliver();
		return outbox.waiting === 0;
	});
	assert.deepEqual(eventsOf(receiver), ["away", "back"]);
});

test("delivers ten simultaneous events at the first attempt to a receiver that closes each connection", async (t) => {
	const receiver = await new Receiver().listen(t);
	receiver.closes = true;
	const { outbox, lines } = await openOutbox(t, receiver);
	const ids = Array.from({ length: 10 }, (_, index) => `dev-1-00000${index}`);
	await Promise.all(ids.map((id) => outbox.add(id, { event: "away", text: `${id} is away.` })));
	await waitUntil(() => {
		outbox.deliver();
		return outbox.waiting === 0 || lines.length > 0;
	});
	assert.deepEqual(lines, []);
	assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 10);
});

test("drops the oldest of 51 queued events of a device, and logs it", async (t) => {
	const receiver = await new Receiver().listen(t);
	receiver.manner = 500;
	const { outbox, lines } = await openOutbox(t, receiver);
	for (let count = 1; count <= 51; count += 1)
		await outbox.add(deviceId, { event: "crashed", text: `Crash ${count}.` });
	await outbox.add("dev-1-ffffff", { event: "crashed", text: "A crash of another." });
	const dropped = lines.filter((line) => line.includes("dropped")).map((line) => JSON.parse(line));
	const lost = dropped.map(({ hook, subject }) => [hook, subject]);
	assert.deepEqual(lost, [[receiver.hook().id, deviceId]]);
	assert.equal(outbox.waiting, 51);
});

/** Standard Webhooks secret of this length. */
const coded = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString("base64")}`;

test("signs with the new and the previous secret during rotation", async (t) => {
	const receiver = await new Receiver().listen(t);
	const path = join(await temporaryDirectory(t), "webhooks.json");
	await writeFile(path, JSON.stringify([{ url: receiver.url, secret: coded(32), previousSecret: secret }]));
	const [{ secrets } = assert.fail("no webhook was read")] = readHooks(path);
	const gateway = await runGateway(t, withHooks([receiver.hook({ secrets })]));
	await gateway.rejected("/device", bearer("a-token-that-is-not-right"));
	await receiver.until(1);
	const [{ body, headers } = assert.fail("no delivery")] = receiver.signed;
	assert.equal(headers["webhook-signature"]?.split(" ").length, 2);
	new Webhook(coded(32)).verify(body, headers);
	new Webhook(secret, { format: "raw" }).verify(body, headers);
	assert.throws(() => new Webhook(Buffer.alloc(32), { format: "raw" }).verify(body, headers), /No matching/);
});

test("rejects to start with an invalid file, and explains what to change without secrets", async (t) => {
	const path = join(await temporaryDirectory(t), "webhooks.json");
	const url = "https://example.org/hook";
	const rejection = async (content: unknown) => {
		await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
		try {
			readHooks(path);
		} catch (error) {
			return String(error);
		}
		return "none";
	};
	assert.equal(await rejection([{ url, secret }]), "none");
	assert.equal(await rejection(`\ufeff${JSON.stringify([{ url, secret }])}\r\n`), "none");
	assert.deepEqual(readHooks(path)[0]?.after, 5);
	assert.equal(await rejection([{ url, secret, tags: "shop and not beta" }]), "none");
	assert.equal(readHooks(path)[0]?.tags?.text, "shop and not beta");
	for (const usable of [coded(24), coded(25), coded(64)])
		assert.equal(await rejection([{ url, secret: usable, previousSecret: secret }]), "none");
	const wrongSecrets = [
		...[coded(23), coded(65), coded(32).slice(0, -1)],
		...[`${coded(24)}!`, `whsec_${"-".repeat(32)}`],
	];
	const hook = (change: object) => [{ url, secret, ...change }];
	for (const [expected, contents] of [
		[/is not a JSON list/, ["no JSON", '{"url": 1}', ""]],
		[/wrong in 1: /, ["[1]", "[null]", "[[]]"]],
		[/wrong in 1: secret is missing/, [[{ url }]]],
		[/has an unknown field "event" in 1/, [hook({ event: "away" })]],
		[/has an unknown field "toString" in 1/, [hook({ toString: "x" })]],
		[
			/unknown field/,
			['[{"url": "https://example.org", "secret": "secret-of-the-receiver", "__proto__": {}}]'],
		],
		[/events must be/, [hook({ events: "away" })]],
		[/events\.0 must be/, [hook({ events: ["constructor"] })]],
		[/after must be/, ["5", 2.5, 0].map((after) => hook({ after }))],
		[/secret must be at least 16 printable/, [hook({ secret: "too short" })]],
		[/secret must be/, [hook({ secret: 1e20 })]],
		[/previousSecret must be at least 16 printable/, [hook({ previousSecret: "too short" })]],
		[
			/wrong in 1: secret begins with whsec_, so the rest must be.*openssl rand -base64 32/,
			wrongSecrets.map((wrong) => hook({ secret: wrong })),
		],
		[/wrong in 1: previousSecret begins with/, wrongSecrets.map((wrong) => hook({ previousSecret: wrong }))],
		[/url is not an address/, ["https://example.org:99999/", "https://[::1/"].map((url) => hook({ url }))],
		[
			/url must be an address/,
			["https://example.org/a b", "ftp://example.org", "https://user:password@example.org"].map((url) =>
				hook({ url }),
			),
		],
		[/tags must be a string/, [hook({ tags: ["beta"] })]],
		[/is wrong in 1: tags: At character 1: write beta in place of Beta; set it/, [hook({ tags: "Beta" })]],
		[/names the address of 2 twice/, [[...hook({}), ...hook({})]]],
	] as const)
		for (const content of contents) {
			const said = await rejection(content);
			assert.match(said, expected);
			for (const shown of [secret, ...wrongSecrets]) assert.ok(!said.includes(shown), said);
		}
	assert.throws(
		() => readHooks(`${path}-missing`),
		/^StartError: Cannot read .* \(ENOENT\)\. Set WEBHOOKS_FILE/,
	);
});

test("are an empty list without WEBHOOKS_FILE", async (t) => {
	const { api } = await runGateway(t);
	const { status, body } = await api("GET", "/api/webhooks");
	assert.deepEqual([status, body], [200, { webhooks: [] }]);
	assert.equal((await api("POST", "/api/webhooks/1/test")).status, 404);
});
