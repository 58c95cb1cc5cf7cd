/** Tests that invalid messages on the bus, such as from another version, are ignored. */

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { Members, noInterest } from "../../../gateway/cluster/members.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { waitUntil } from "../../support/eventually.js";
import { MemoryServer } from "../../support/memory-bus.js";
import { ofFleet, runClustered } from "./gateways.js";

const deviceId = "dev-1-00f0f0";
const at = 1_795_176_000_000;

/** Session entry as sent by a gateway. */
const device = {
	deviceId,
	model: "DEV-1",
	chip: "esp32s3",
	firmwareVersion: "1.2.3",
	uptimeSeconds: 7,
	vitals: { rssi: -50, ssid: "home", volume: 50 },
	firstSeenAt: at,
	lastReportAt: at,
	versions: [{ version: "1.2.3", at }],
	resets: [{ reason: "POWERON_RESET", at }],
	hasReported: true,
	metadata: { otaStatus: "idle" },
};
const entry = {
	gateway: "forged",
	sessionId: "ffffffff-ffff-4fff-bfff-ffffffffffff",
	connected: true,
	connectedAt: at,
	lastSeenAt: at,
	handshake: { model: "DEV-1", chip: "esp32s3", features: ["crash"], remoteAddress: "192.0.2.1" },
	device,
};

/** Runs one gateway, and a bus that impersonates another. */
async function runForged(t: TestContext) {
	const server = new MemoryServer();
	const dataDir = join(await temporaryDirectory(t), "data");
	// A monitor that requests reports in a loop.
	const limits = { commandBurst: 100_000 };
	const gateway = await runClustered(t, server.connect(), { dataDir, limits });
	const monitor = await gateway.watch();
	monitor.send({ type: "subscribe", summary: true });
	const bus = server.connect();
	t.after(() => bus.close());
	const beat = { gateway: "forged", name: "forged", interest: noInterest };
	const say = (subject: string, message: unknown) => bus.publish(subject, JSON.stringify(message));
	const devices = async () => {
		const { status, body } = await gateway.api("GET", "/api/devices");
		assert.equal(status, 200);
		return body.devices;
	};
	/** Resolves once the gateway has processed all previous messages. */
	const taken = async (firmwareVersion: string) => {
		say("gw.hb.forged", beat);
		await write(deviceId, { ...entry, device: { ...device, firmwareVersion } });
		await waitUntil(async () => JSON.stringify(await devices()).includes(firmwareVersion));
	};
	const directory = await bus.bucket("gw-directory");
	const write = async (key: string, value: unknown) =>
		directory.set(key, JSON.stringify(value), (await directory.get(key))?.revision ?? 0);
	return { gateway, monitor, bus, dataDir, beat, say, devices, taken, write };
}

/** Variants of the value: one field missing, null or text, or a list of null. */
function* damaged(value: object): Generator<object> {
	for (const [name, field] of Object.entries(value)) {
		const { [name]: _, ...rest } = Object.fromEntries(Object.entries(value));
		yield* [rest, { ...rest, [name]: null }, { ...rest, [name]: "?" }];
		if (Array.isArray(field)) yield { ...rest, [name]: [null] };
		else if (typeof field === "object" && field !== null)
			for (const inner of damaged(field)) yield { ...rest, [name]: inner };
	}
}

describe("gateway whose messages lack fields", () => {
	test("crashes no other gateway by a heartbeat, directory entry or response", ofFleet, async (t) => {
		const { monitor, bus, beat, say, devices, taken, write } = await runForged(t);
		let asked = 0;
		const state = { entry, text: "{}" };
		const answers = [...damaged({ count: 1, states: [state] }), null, [], 1];
		bus.serve("gw.states.forged", async () => {
			asked += 1;
			return JSON.stringify(answers[asked]);
		});
		for (const value of [...damaged(beat), null, [], 1]) say("gw.hb.forged", value);
		await taken("first");
		for (const value of [...damaged(entry), null, [], 1])
			for (const key of [deviceId, "x"]) await write(key, value);
		for (const head of ["1 NaN other 2", "1 x other 2", "1 9e99 other 2", "x 1 other 2"])
			bus.publish("gw.reports.x", `${entry.sessionId} ${head}\n{}`);
		await taken("second");
		// A pending request is not repeated.
		await waitUntil(
			() => asked >= answers.length,
			async () => {
				// Otherwise it counts as lost on a slow computer.
				say("gw.hb.forged", beat);
				await monitor.request({ type: "subscribe", summary: true, devices: [] });
				await monitor.request({ type: "subscribe", summary: true, devices: [deviceId] });
			},
		);
		await taken("third");
		assert.match(JSON.stringify(await devices()), /"deviceId":"dev-1-00f0f0"/);
	});
});

describe("key of a bucket", () => {
	test("is ignored if no valid device id, and reported if its value is invalid", ofFleet, async (t) => {
		const { gateway, bus, dataDir, taken, devices, write } = await runForged(t);
		const times = { firstSeenAt: at, connectedAt: at, lastSeenAt: at, lastReportAt: at };
		const record = JSON.stringify({ sessionId: "a", remoteAddress: "192.0.2.1", ...times });
		for (const [name, text] of [
			["devices", record],
			["labels", '{"name":"x"}'],
			["crashes", '{"crashes":[]}'],
			["updates", '{"jobs":[]}'],
		] as const) {
			const bucket = await bus.bucket(`gw-record-${name}`);
			for (const key of ["../../outside", "a/b", "..", ".", "", "a\0b"]) await bucket.set(key, text, 0);
			for (const wrong of ["", "null", "[]", '{"removedAt":1}', "{"]) {
				await bucket.set("dev-1-000002", wrong, (await bucket.get("dev-1-000002"))?.revision ?? 0);
				await taken(`after ${name}`);
			}
			await bucket.set("dev-1-000001", text, 0);
		}
		const named = { ...device, deviceId: "dev-1-000001" };
		await write(named.deviceId, { ...entry, sessionId: entry.sessionId.replace(/f/g, "e"), device: named });
		await waitUntil(
			async () => JSON.stringify(await devices()).includes('"name":"x"'),
			() => taken("again"),
		);
		const listed: readonly { readonly deviceId: string }[] = JSON.parse(JSON.stringify(await devices()));
		assert.deepEqual(listed.map(({ deviceId }) => deviceId).sort(), ["dev-1-000001", deviceId]);
		await gateway.gateway.close();
		assert.deepEqual((await readdir(join(dataDir, ".."))).sort(), ["data"]);
	});
});

test("forgets gateways that are silent", () => {
	let now = 0;
	const members = new Members({
		onUp: () => {},
		onDown: () => {},
		log: createLog("silent"),
		now: () => now,
		monotonic: () => now,
		silenceMs: 6000,
	});
	const beatOf = (gateway: string) => ({ gateway, name: gateway, interest: noInterest });
	for (const id of ["real", "forged-1", "forged-2"]) members.onHeartbeat(beatOf(id));
	now += 7000;
	members.onHeartbeat(beatOf("real"));
	members.check();
	assert.deepEqual(
		members.up.map(({ id }) => id),
		["real"],
	);
	assert.equal(members.hasLost, true);
	members.onHeartbeat(beatOf("forged-1"));
	assert.equal(members.hasLost, false);
});
