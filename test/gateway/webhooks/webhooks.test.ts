import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import fs, { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { pino } from "pino";
import { noCounts } from "../../../gateway/api/rollout.js";
import { parseTags } from "../../../gateway/api/tags.js";
import type { Core } from "../../../gateway/extension.js";
import { readHooks } from "../../../gateway/webhooks/hooks.js";
import { Outbox } from "../../../gateway/webhooks/outbox.js";
import { sampleReport } from "../../../scripts/api/sample-report.js";
import { eventually, waitUntil } from "../../support/eventually.js";
import {
	bearer,
	type Client,
	monitorToken,
	type RunningGateway,
	runGateway,
	temporaryDirectory,
} from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";
import { Receiver, secret, withHooks } from "./receiver.js";

const minuteMs = 60_000;
const deviceId = "dev-1-a1b2c3";

/** Clocks of a gateway, advanced by tests. */
class Clock {
	#aheadMs = 0;
	readonly options = {
		now: () => Date.now() + this.#aheadMs,
		monotonic: () => performance.now() + this.#aheadMs,
	};

	pass(ms: number): void {
		this.#aheadMs += ms;
	}
}

async function connected({ device }: RunningGateway, monitor: Client): Promise<Client> {
	const client = await device({ "Device-Id": deviceId });
	client.send(sampleReport("DEV-1"));
	await monitor.change("connected");
	return client;
}

async function leave(device: Client, monitor: Client): Promise<void> {
	device.socket.terminate();
	await monitor.change("disconnected");
}

async function call(url: string, method: string, path: string) {
	const response = await fetch(`${url}${path}`, { method, headers: bearer(monitorToken) });
	return { status: response.status, body: JSON.parse(await response.text()) };
}

/** Waits for a state of the first webhook in `GET /api/webhooks`. */
async function shows(
	url: string,
	predicate: (hook: { ended: boolean; waiting: number; latest: { status: number | null } | null }) => boolean,
) {
	const read = async () => (await call(url, "GET", "/api/webhooks")).body.webhooks;
	return (await eventually(read, ([hook]) => predicate(hook)))[0];
}

test("sends one signed event each when a device is offline for longer than `after` and when it returns", async (t) => {
	const receiver = await new Receiver().listen(t);
	const clock = new Clock();
	const gateway = await runGateway(t, { ...clock.options, ...withHooks([receiver.hook({ after: 5 })]) });
	const monitor = await gateway.monitor();
	const device = await connected(gateway, monitor);
	await leave(device, monitor);
	clock.pass(4 * minuteMs);
	const again = await connected(gateway, monitor);
	await leave(again, monitor);
	clock.pass(4 * minuteMs);
	await setTimeout(50);
	assert.deepEqual(receiver.received, [], "4 minutes are no 5");
	clock.pass(2 * minuteMs);
	const [away] = await receiver.until(1);
	assert.equal(away?.event, "away");
	assert.match(String(away?.text), /^dev-1-a1b2c3 has been away since /);
	assert.deepEqual(away?.device, {
		deviceId,
		name: null,
		room: null,
		tags: [],
		model: "DEV-1",
		firmwareVersion: "1.2.3",
	});
	clock.pass(10 * minuteMs);
	const returned = await connected(gateway, monitor);
	const [, back] = await receiver.until(2);
	assert.equal(back?.event, "back");
	assert.notEqual(back?.id, away?.id);
	assert.ok(
		Date.parse(String(back?.time)) - Date.parse(String(away?.time)) >= 10 * minuteMs,
		`away at ${away?.time}, back at ${back?.time}`,
	);
	await leave(returned, monitor);
	clock.pass(6 * minuteMs);
	const received = await receiver.until(3);
	assert.deepEqual(
		received.map(({ event }) => event),
		["away", "back", "away"],
	);
	assert.deepEqual(receiver.forged, []);
});

test("sends no event for a restart of the gateway, except for devices that do not return", async (t) => {
	const receiver = await new Receiver().listen(t);
	const dataDir = await temporaryDirectory(t);
	const clock = new Clock();
	const options = { dataDir, ...clock.options, ...withHooks([receiver.hook({ after: 5 })]) };
	const first = await runGateway(t, options);
	const before = await first.monitor();
	const gone = new ScriptedDevice({ url: first.url, deviceId: "dev-1-00000a" });
	await gone.connect();
	await before.change("identified");
	gone.close();
	await before.change("disconnected");
	clock.pass(6 * minuteMs);
	await receiver.until(1);
	await shows(first.url, ({ waiting }) => waiting === 0);
	await connected(first, before);
	await first.gateway.close();

	clock.pass(20 * minuteMs);
	const second = await runGateway(t, options);
	const monitor = await second.monitor();
	clock.pass(4 * minuteMs);
	await setTimeout(50);
	const device = await connected(second, monitor);
	clock.pass(10 * minuteMs);
	await setTimeout(50);
	assert.equal(receiver.received.length, 1, JSON.stringify(receiver.received));
	await leave(device, monitor);
	await second.gateway.close();

	const third = await runGateway(t, options);
	clock.pass(6 * minuteMs);
	const [, stayed] = await receiver.until(2);
	assert.deepEqual([stayed?.event, Object(stayed?.device).deviceId], ["away", deviceId]);
	gone.close();
	const returned = new ScriptedDevice({ url: third.url, deviceId: "dev-1-00000a" });
	t.after(() => returned.close());
	await returned.connect();
	const [, , back] = await receiver.until(3);
	assert.deepEqual([back?.event, Object(back?.device).deviceId], ["back", "dev-1-00000a"]);
});

for (const [manner, shown] of [
	[500, { status: 500, problem: null }],
	["redirects", { status: 307, problem: null }],
] as const)
	test(`retries a receiver that answers ${manner} 5 times within an hour, across restarts, with the same bytes`, async (t) => {
		const receiver = await new Receiver().listen(t);
		receiver.manner = manner;
		const dataDir = await temporaryDirectory(t);
		const clock = new Clock();
		const options = { dataDir, ...clock.options, ...withHooks([receiver.hook()]) };
		const first = await runGateway(t, options);
		await first.refused("/device", bearer("a-token-that-is-not-right"));
		await receiver.until(1);
		const { latest } = await shows(first.url, (hook) => hook.latest !== null);
		assert.deepEqual(latest, { at: latest.at, ...shown });
		await first.gateway.close();
		const second = await runGateway(t, options);
		for (const [index, minutes] of [1, 4, 15, 40].entries()) {
			clock.pass(minutes * minuteMs - 10_000);
			await setTimeout(30);
			assert.equal(receiver.received.length, index + 1, "not before its time");
			clock.pass(20_000);
			await receiver.until(index + 2);
		}
		await shows(second.url, ({ waiting }) => waiting === 0);
		clock.pass(600 * minuteMs);
		await setTimeout(30);
		assert.equal(receiver.received.length, 5);
		assert.equal(new Set(receiver.received.map((each) => JSON.stringify(each))).size, 1);
	});

test("sends queued events in order after the clock was three days ahead", async (t) => {
	const receiver = await new Receiver().listen(t);
	receiver.manner = 500;
	const dataDir = await temporaryDirectory(t);
	const clock = new Clock();
	const options = { dataDir, ...clock.options, ...withHooks([receiver.hook()]) };
	clock.pass(3 * 24 * 60 * minuteMs);
	const first = await runGateway(t, options);
	const monitor = await first.monitor();
	await leave(await connected(first, monitor), monitor);
	clock.pass(6 * minuteMs);
	await receiver.until(1);
	await shows(first.url, ({ latest }) => latest !== null);
	await first.gateway.close();

	clock.pass(-3 * 24 * 60 * minuteMs);
	receiver.manner = 204;
	const second = await runGateway(t, options);
	await connected(second, await second.monitor());
	const received = await receiver.until(3);
	assert.deepEqual(
		received.map(({ event }) => event),
		["away", "away", "back"],
	);
});

test("isolates unresponsive receivers, and keeps the order of events per device", async (t) => {
	const [silent, dead, well] = [
		await new Receiver().listen(t),
		"http://127.0.0.1:9/",
		await new Receiver().listen(t),
	];
	silent.manner = "waits";
	const clock = new Clock();
	const hooks = [
		silent.hook({ id: "0000000000000001" }),
		well.hook({ id: "0000000000000002", url: dead }),
		well.hook({ id: "0000000000000003" }),
	];
	const gateway = await runGateway(t, { ...clock.options, ...withHooks(hooks) });
	const monitor = await gateway.monitor();
	await leave(await connected(gateway, monitor), monitor);
	clock.pass(6 * minuteMs);
	await well.until(1);
	await connected(gateway, monitor);
	const received = await well.until(2);
	assert.deepEqual(
		received.map(({ event }) => event),
		["away", "back"],
	);
	const [first, second, third] = await eventually(
		async () => (await call(gateway.url, "GET", "/api/webhooks")).body.webhooks,
		([first, second]) => first.latest !== null && second.latest !== null && second.waiting > 1,
	);
	assert.equal(first.latest.problem, "no answer within 5 s");
	assert.equal(second.latest.status, null);
	assert.deepEqual([first.waiting, second.waiting, third.waiting], [2, 2, 0]);
	assert.equal(silent.received.length, 1, "the second waits for the first");
	silent.manner = 200;
	clock.pass(2 * minuteMs);
	assert.deepEqual(
		(await silent.until(3)).map(({ event }) => event),
		["away", "away", "back"],
	);
});

test("sends crashes, rollbacks and rejections, except throttled ones and repetitions within an hour", async (t) => {
	const receiver = await new Receiver().listen(t);
	const cores: Core[] = [];
	const gateway = await runGateway(t, withHooks([receiver.hook({ after: 60 })], cores));
	const crash = {
		id: "c1",
		kind: "exception",
		message: "no",
		stack: "",
		firmware_version: "1.0.0",
		uptime_seconds: 5,
		trace: "",
	} as const;
	await gateway.namedDevice(await gateway.monitor());
	const [core] = cores;
	const device = core?.sessions.devices.get(deviceId);
	assert.ok(core && device, `${deviceId} is unknown`);
	core.emit({ type: "crash", device, crash });
	const [crashed] = await receiver.until(1);
	assert.deepEqual(
		[crashed?.event, crashed?.crash],
		["crashed", { id: "c1", kind: "exception", version: "1.0.0" }],
	);
	const throttled = { remoteAddress: "127.0.0.1", reason: "Too many devices are connecting." };
	core.sessions.reportRejection({ what: "connection", deviceId: "dev-1-eeeeee", ...throttled }, true);
	for (let attempt = 0; attempt < 3; attempt += 1)
		await gateway.refused("/device", { ...bearer("a-token-that-is-not-right"), "Device-Id": "dev-1-ffffff" });
	const [, refused] = await receiver.until(2);
	assert.deepEqual(
		[refused?.event, refused?.deviceId, refused?.remoteAddress, refused?.reason],
		["refused", "dev-1-ffffff", "127.0.0.1", "Missing or invalid token."],
	);
	await shows(gateway.url, ({ waiting }) => waiting === 0);
	assert.equal(receiver.received.length, 2);
});

const ofFleet = { skip: existsSync("gateway/fleet") ? false : "fleet/ was removed" };
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
	assert.deepEqual(cause, { kind: "exception", message: "no face #", frames, version: "1.4.0" });
	assert.match(String(first?.text), /^dev-1-\w+ has crashed in a new way on 1\.4\.0: no face # in onButton/);
	assert.equal(Object(second?.cause).message, "no volume");
});

test("sends only subscribed events, lists hooks without secrets, and returns the status of a test", async (t) => {
	const receiver = await new Receiver().listen(t);
	const gateway = await runGateway(t, withHooks([receiver.hook({ events: ["back"] })]));
	await gateway.refused("/device", bearer("a-token-that-is-not-right"));
	const { status, body } = await call(gateway.url, "POST", "/api/webhooks/1/test");
	assert.deepEqual([status, body.status, body.problem], [200, 204, null]);
	receiver.manner = 410;
	assert.equal((await call(gateway.url, "POST", "/api/webhooks/1/test")).body.status, 410);
	assert.deepEqual(
		receiver.received.map(({ event }) => event),
		["test", "test"],
	);
	assert.deepEqual(receiver.forged, []);
	const listed = await call(gateway.url, "GET", "/api/webhooks");
	assert.deepEqual(listed.body.webhooks, [
		{
			number: 1,
			origin: new URL(receiver.url).origin,
			events: ["back"],
			tags: null,
			after: 5,
			ended: true,
			waiting: 0,
			latest: null,
		},
	]);
	for (const number of ["0", "2", "-1", "1.0", "0x1", "NaN", "__proto__", "%00"])
		assert.equal((await call(gateway.url, "POST", `/api/webhooks/${number}/test`)).status, 404, number);
});

test(
	"filters events by tags, and sends the return of each device whose absence was sent",
	ofFleet,
	async (t) => {
		const [shop, all] = [await new Receiver().listen(t), await new Receiver().listen(t)];
		const clock = new Clock();
		const text = "shop and not beta";
		const hooks = [
			shop.hook({ id: "0000000000000001", tags: { text, expression: parseTags(text) } }),
			all.hook({ id: "0000000000000002" }),
		];
		const gateway = await runGateway(t, { ...clock.options, ...withHooks(hooks) });
		const ids = ["dev-1-00000a", "dev-1-00000b", "dev-1-00000c"];
		const tagsOf: readonly (readonly string[])[] = [["shop"], ["beta", "shop"], []];
		const connect = async (id: string) => {
			const device = new ScriptedDevice({ url: gateway.url, deviceId: id });
			t.after(() => device.close());
			return device.connect();
		};
		const label = async (id: string, tags: readonly string[]) => {
			const body = JSON.stringify({ tags });
			const ask = { method: "PATCH", headers: bearer(monitorToken), body };
			await eventually(
				() => fetch(`${gateway.url}/api/devices/${id}`, ask),
				({ status }) => status === 200,
			);
		};
		const devices = await Promise.all(ids.map(connect));
		for (const [index, id] of ids.entries()) await label(id, tagsOf[index] ?? []);
		for (const device of devices) device.close();
		const isAway = async () => {
			const { body } = await call(gateway.url, "GET", "/api/devices");
			return body.devices.every((device: { connected: boolean }) => !device.connected);
		};
		await eventually(isAway, Boolean);
		clock.pass(6 * minuteMs);
		await all.until(3);
		const [away] = await shop.until(1);
		assert.deepEqual(Object(away?.device).tags, ["shop"]);
		await label("dev-1-00000a", ["beta", "shop"]);
		for (const id of ids) await connect(id);
		await all.until(6);
		const told = await shop.until(2);
		assert.deepEqual(
			told.map(({ event, device }) => [event, Object(device).deviceId]),
			[
				["away", "dev-1-00000a"],
				["back", "dev-1-00000a"],
			],
		);
		assert.equal(shop.received.length, 2);
		assert.equal((await call(gateway.url, "GET", "/api/webhooks")).body.webhooks[0].tags, text);
	},
);

test("stops sending after 410 until the gateway restarts, and reports it", async (t) => {
	const [gone, well] = [await new Receiver().listen(t), await new Receiver().listen(t)];
	const clock = new Clock();
	const hooks = [gone.hook({ id: "0000000000000001" }), well.hook({ id: "0000000000000002" })];
	const dataDir = await temporaryDirectory(t);
	const options = { dataDir, ...clock.options, ...withHooks(hooks) };
	const first = await runGateway(t, options);
	const happen = ({ refused }: RunningGateway, id: string) =>
		refused("/device", { ...bearer("a-token-that-is-not-right"), "Device-Id": id });
	gone.manner = 500;
	await happen(first, "dev-1-00000a");
	await shows(first.url, ({ latest }) => latest !== null);
	gone.manner = 410;
	await happen(first, "dev-1-00000b");
	clock.pass(2 * minuteMs);
	await shows(first.url, ({ ended, waiting }) => ended && waiting === 0);
	assert.equal(gone.received.length, 2);
	await happen(first, "dev-1-00000c");
	await well.until(3);
	clock.pass(60 * minuteMs);
	await setTimeout(50);
	assert.equal(gone.received.length, 2, JSON.stringify(gone.received));
	assert.deepEqual((await call(first.url, "GET", "/api/webhooks")).body.webhooks[1].ended, false);

	if (!ofFleet.skip) {
		const { refusals } = (await call(first.url, "GET", "/api/refusals")).body;
		const [{ remoteAddress, reason }, ...others] = refusals.filter(
			({ what }: { what: string }) => what === "webhook",
		);
		assert.deepEqual([remoteAddress, others], [new URL(gone.url).origin, []]);
		assert.match(reason, /responded with 410, so delivery stopped/);
	}
	const metrics = await fetch(`${first.url}/metrics`, { headers: bearer(monitorToken) });
	assert.match(await metrics.text(), /^gateway_ended_webhooks 1$/m);
	assert.equal((await fetch(`${first.url}/readyz`)).status, 200);
	const tested = await call(first.url, "POST", "/api/webhooks/1/test");
	assert.deepEqual([tested.status, gone.received.length], [409, 2]);
	assert.match(tested.body.detail, /^Webhook 1 has ended\. Its receiver responded with 410/);
	await first.gateway.close();

	gone.manner = 204;
	const second = await runGateway(t, options);
	await happen(second, "dev-1-00000d");
	const received = await gone.until(3);
	assert.deepEqual(
		received.map(({ deviceId }) => deviceId),
		["dev-1-00000a", "dev-1-00000a", "dev-1-00000d"],
	);
	await shows(second.url, ({ ended, waiting }) => !ended && waiting === 0);
});

test("delivers ten simultaneous events at the first attempt to a receiver that closes each connection", async (t) => {
	const receiver = await new Receiver().listen(t);
	receiver.closes = true;
	const cores: Core[] = [];
	const lines: string[] = [];
	const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
	await runGateway(t, withHooks([], cores));
	const [core] = cores;
	assert.ok(core, "the extension got a core");
	const outbox = new Outbox(receiver.hook(), { ...core, log, now: () => 0 });
	await outbox.open();
	const ids = Array.from({ length: 10 }, (_, index) => `dev-1-00000${index}`);
	await Promise.all(ids.map((id) => outbox.add(id, { event: "away", text: `${id} is away.` })));
	await waitUntil(() => {
		outbox.deliver();
		return outbox.waiting === 0 || lines.length > 0;
	});
	assert.deepEqual(lines, []);
	assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 10);
	await outbox.close();
});

test("refuses to start with an invalid file, and explains what to change without secrets", async (t) => {
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
	for (const [content, expected] of [
		["no JSON", /is not a JSON list/],
		[[{ url }], /wrong in 1: secret is missing/],
		['{"url": 1}', /is not a JSON list/],
		["", /is not a JSON list/],
		["[1]", /wrong in 1: /],
		["[null]", /wrong in 1: /],
		["[[]]", /wrong in 1: /],
		[[{ url, secret, event: "away" }], /has an unknown field "event" in 1/],
		[
			'[{"url": "https://example.org", "secret": "secret-of-the-receiver", "__proto__": {}}]',
			/unknown field/,
		],
		[[{ url, secret, toString: "x" }], /has an unknown field "toString" in 1/],
		[[{ url, secret, events: "away" }], /events must be/],
		[[{ url, secret, after: "5" }], /after must be/],
		[[{ url, secret, after: 2.5 }], /after must be/],
		[[{ url, secret: "too short" }], /secret must be at least 16 printable/],
		[[{ url, secret: 1e20 }], /secret must be/],
		[[{ url: "https://example.org:99999/", secret }], /url is not an address/],
		[[{ url: "https://[::1/", secret }], /url is not an address/],
		[[{ url: "https://example.org/a b", secret }], /url must be an address/],
		[[{ url: "ftp://example.org", secret }], /url must be an address/],
		[[{ url: "https://user:password@example.org", secret }], /url must be an address/],
		[[{ url, secret, events: ["constructor"] }], /events\.0 must be/],
		[[{ url, secret, tags: ["beta"] }], /tags must be a string/],
		[
			[{ url, secret, tags: "Beta" }],
			/is wrong in 1: tags: At character 1: write beta in place of Beta; set it/,
		],
		[[{ url, secret, after: 0 }], /after must be/],
		[
			[
				{ url, secret },
				{ url, secret },
			],
			/names the address of 2 twice/,
		],
	] as const) {
		const said = await rejection(content);
		assert.match(said, expected);
		assert.ok(!said.includes(secret), said);
	}
	assert.throws(() => readHooks(`${path}-missing`), /WEBHOOKS_FILE is .*cannot be read \(ENOENT\)/);
});

test("sends missed and failed schedules", async (t) => {
	const receiver = await new Receiver().listen(t);
	const cores: Core[] = [];
	await runGateway(t, withHooks([receiver.hook({ events: ["schedule_failed"] })], cores));
	const [core] = cores;
	assert.ok(core, "the gateway has no core");
	const dueAt = "2026-11-27T16:50:00.000Z";
	const missed = {
		id: "5f0c21b7a1b2c3d4",
		name: "Closing",
		outcome: "missed",
		dueAt,
		reason: "No one ran.",
	} as const;
	const failed = { ...missed, name: null, outcome: "failed", reason: "No sound is called 5f2a." } as const;
	for (const schedule of [missed, failed]) core.emit({ type: "schedule_failed", ...schedule });
	const [first, second] = await receiver.until(2);
	assert.deepEqual([first?.event, first?.schedule], ["schedule_failed", missed]);
	assert.equal(first?.text, `The schedule Closing, due at ${dueAt}, was missed: No one ran.`);
	assert.deepEqual([second?.event, second?.schedule], ["schedule_failed", failed]);
	const words = `The schedule ${missed.id}, due at ${dueAt}, has failed: No sound is called 5f2a.`;
	assert.equal(second?.text, words);
});

test("sends paused and finished rollouts once, and rollbacks", async (t) => {
	const receiver = await new Receiver().listen(t);
	const cores: Core[] = [];
	const gateway = await runGateway(t, withHooks([receiver.hook()], cores));
	const [core] = cores;
	assert.ok(core, "the gateway has no core");
	const frame = (status: "running" | "paused" | "finished", revision: number) => {
		const pausedBecause = status === "paused" ? "failures" : null;
		const counts = { ...noCounts, succeeded: 3, rolled_back: 2 };
		const rollout = {
			type: "rollout_update",
			version: "1.4.0",
			id: "autumn",
			status,
			pausedBecause,
			counts,
			revision,
		} as const;
		core.emit({ type: "rollout", rollout });
	};
	frame("running", 2);
	for (const revision of [3, 3, 4]) frame("paused", revision);
	const [paused] = await receiver.until(1);
	assert.deepEqual([paused?.event, Object(paused?.rollout).id], ["rollout_paused", "autumn"]);
	assert.equal(paused?.text, "Rollout autumn is paused (failures): 3 updated, 2 failed.");
	frame("running", 5);
	frame("finished", 6);
	const [, finished] = await receiver.until(2);
	assert.equal(finished?.event, "rollout_finished");

	await gateway.namedDevice(await gateway.monitor());
	const device = core.sessions.devices.get(deviceId);
	assert.ok(device, `${deviceId} is unknown`);
	const update = { otaPercent: 100, otaVersion: "1.4.0", otaReason: "It did not reach the gateway." };
	for (const otaStatus of ["rebooting", "rolled_back", "rolled_back"] as const)
		core.sessions.setOta(device, { ...update, otaStatus });
	const [, , back] = await receiver.until(3);
	assert.equal(back?.text, "dev-1-a1b2c3 has rolled back 1.4.0: It did not reach the gateway.");
	await shows(gateway.url, ({ waiting }) => waiting === 0);
	assert.equal(receiver.received.length, 3);
});

test("sends a full disk once until it has recovered", async (t) => {
	const receiver = await new Receiver().listen(t);
	const clock = new Clock();
	let isFull = false;
	const statfs = new Proxy(fs.statfs, {
		apply: async (target, self, words: unknown[]) => ({
			...(await Reflect.apply(target, self, words)),
			...(isFull && { bavail: 0 }),
		}),
	});
	const disk = { ...fs, statfs };
	const gateway = await runGateway(t, { ...clock.options, disk, ...withHooks([receiver.hook()]) });
	isFull = true;
	clock.pass(2 * minuteMs);
	const [full] = await receiver.until(1);
	assert.deepEqual([full?.event, full?.text], ["disk_full", "The data folder's disk is full."]);
	clock.pass(2 * minuteMs);
	await setTimeout(30);
	await shows(gateway.url, ({ waiting }) => waiting === 0);
	assert.equal(receiver.received.length, 1);
});

test("drops the oldest of 51 queued events of a device, and logs it", async (t) => {
	const cores: Core[] = [];
	await runGateway(t, withHooks([], cores));
	const [core] = cores;
	assert.ok(core, "the extension got a core");
	const receiver = await new Receiver().listen(t);
	receiver.manner = 500;
	const lines: string[] = [];
	const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
	const outbox = new Outbox(receiver.hook(), { ...core, log, now: () => 0 });
	await outbox.open();
	for (let count = 1; count <= 51; count += 1)
		await outbox.add(deviceId, { event: "crashed", text: `Crash ${count}.` });
	await outbox.add("dev-1-ffffff", { event: "crashed", text: "A crash of another." });
	const dropped = lines.filter((line) => line.includes("dropped")).map((line) => JSON.parse(line));
	assert.deepEqual(
		dropped.map(({ hook, subject }) => [hook, subject]),
		[[receiver.hook().id, deviceId]],
	);
	assert.equal(outbox.waiting, 51);
	await outbox.close();
});

test("are an empty list without WEBHOOKS_FILE", async (t) => {
	const { url } = await runGateway(t);
	const { status, body } = await call(url, "GET", "/api/webhooks");
	assert.deepEqual([status, body], [200, { webhooks: [] }]);
	assert.equal((await call(url, "POST", "/api/webhooks/1/test")).status, 404);
});
