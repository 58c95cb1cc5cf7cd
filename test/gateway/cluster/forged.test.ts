/** What a gateway of another version, or anyone on the bus, can send: it costs that message, and nothing else. */

import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { Members, membersAtMost, noInterest } from "../../../gateway/cluster/members.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { MemoryServer } from "../../support/memory-bus.js";
import { ofFleet, runClustered } from "./gateways.js";

const deviceId = "dev-1-00f0f0";
const at = 1_795_176_000_000;

/** As a gateway tells of it. */
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
	crashes: [{ id: "c1", kind: "panic", version: "1.2.3", at }],
	hasReported: true,
	label: { name: "Kitchen" },
	labelledAt: at,
};
const session = {
	sessionId: "ffffffff-ffff-4fff-bfff-ffffffffffff",
	epoch: 1,
	connected: true,
	connectedAt: at,
	lastSeenAt: at,
	handshake: { model: "DEV-1", chip: "esp32s3", features: ["crash"], remoteAddress: "192.0.2.1" },
	device,
	revision: 1,
};

/** One gateway, and a bus by which another one seems to speak. */
async function runForged(t: TestContext) {
	const server = new MemoryServer();
	const dataDir = join(await temporaryDirectory(t), "data");
	const gateway = await runClustered(t, server.connect(), { dataDir });
	const monitor = await gateway.watch();
	monitor.client.send({ type: "subscribe", summary: true });
	const bus = server.connect();
	t.after(() => bus.close());
	const beat = { gateway: "forged", told: 0, interest: noInterest };
	const say = (subject: string, message: unknown) => bus.publish(subject, JSON.stringify(message));
	const devices = async () => {
		const { status, body } = await gateway.api("GET", "/api/devices");
		assert.equal(status, 200);
		return body.devices;
	};
	/** Resolves once it has taken in what was said before. */
	const taken = async (name: string) => {
		say("gw.hb.forged", beat);
		const named = { ...session, device: { ...device, label: { name }, labelledAt: at + ++number } };
		say("gw.session.x", {
			gateway: "forged",
			number,
			reason: "labelled",
			session: { ...named, revision: number },
		});
		while (!JSON.stringify(await devices()).includes(name));
	};
	let number = 100;
	return { gateway, monitor, bus, dataDir, beat, say, devices, taken };
}

/** The value without one field, with null or a text there, and with nothing but null in a list there. */
function* damaged(value: object): Generator<object> {
	for (const [name, field] of Object.entries(value)) {
		const { [name]: _, ...rest } = Object.fromEntries(Object.entries(value));
		yield* [rest, { ...rest, [name]: null }, { ...rest, [name]: "?" }];
		if (Array.isArray(field)) yield { ...rest, [name]: [null] };
		else if (typeof field === "object" && field !== null)
			for (const each of damaged(field)) yield { ...rest, [name]: each };
	}
}

describe("a gateway of which messages lack fields", { timeout: 60_000 }, () => {
	test(
		"in a heartbeat, in news of a session and in a list of them ends no other gateway",
		ofFleet,
		async (t) => {
			const { bus, beat, say, devices, taken } = await runForged(t);
			let asked = 0;
			bus.serve("gw.list.forged", async () => {
				asked += 1;
				return JSON.stringify({ told: 0, sessions: [...damaged(session), null, session], next: 0 });
			});
			for (const each of [...damaged(beat), null, [], 1]) say("gw.hb.forged", each);
			await taken("first");
			const news = { gateway: "forged", number: 1, reason: "connected", session };
			for (const each of [...damaged(news), null, [], 1]) say("gw.session.x", each);
			for (const time of ["NaN", "x", "9e99"])
				bus.publish("gw.reports.x", `${session.sessionId} ${time} other 2\n{}`);
			await taken("second");
			assert.ok(asked > 0);
			assert.match(JSON.stringify(await devices()), /"deviceId":"dev-1-00f0f0"/);
		},
	);
});

describe("a key of a bucket", { timeout: 60_000 }, () => {
	test("is no path: nothing outside of its folder is written or removed", ofFleet, async (t) => {
		const { gateway, bus, dataDir, taken } = await runForged(t);
		const victim = join(dataDir, "victim.json");
		await writeFile(victim, "kept");
		const times = { firstSeenAt: at, connectedAt: at, lastSeenAt: at, lastReportAt: at };
		const record = JSON.stringify({ sessionId: "a", remoteAddress: "192.0.2.1", ...times });
		const devices = await bus.bucket("gw-devices");
		const crashes = await bus.bucket("gw-crashes");
		for (const bucket of [devices, crashes]) await bucket.set("../victim", '{"removedAt":1}', 0);
		for (const key of ["../../outside", "a/b", "..", ".", "", "a\0b"]) await devices.set(key, record, 0);
		await crashes.set("../other", '{"crashes":[]}', 0);
		await devices.set("dev-1-000001", record, 0);
		while (!(await readdir(join(dataDir, "devices"))).includes("dev-1-000001.json")) await taken("again");
		await gateway.gateway.close();
		assert.equal(await readFile(victim, "utf8"), "kept");
		assert.ok(!(await readdir(join(dataDir, ".."))).includes("outside.json"));
		assert.ok(!(await readdir(dataDir)).includes("other.json"));
		assert.deepEqual(
			(await readdir(join(dataDir, "devices"))).filter((name) => !name.startsWith("dev-1")),
			[],
		);
	});
});

test("made-up gateways are not kept for ever, and real ones still are heard when those are silent", () => {
	let now = 0;
	const members = new Members({
		onUp: () => {},
		onDown: () => {},
		log: createLog("silent"),
		now: () => now,
		monotonic: () => now,
		silenceMs: 6000,
	});
	const beatOf = (gateway: string) => ({ gateway, told: 0, interest: noInterest });
	assert.ok(members.hear(beatOf("real")));
	const ids = Array.from({ length: 20_000 }, (_, index) => `forged-${index}`);
	const kept = () => ids.filter((id) => members.find(id)).length;
	for (const id of ids) members.hear(beatOf(id));
	assert.equal(kept(), membersAtMost - 1);
	assert.ok(members.hear(beatOf("real")));
	now += 7000;
	members.hear(beatOf("real"));
	members.check();
	assert.deepEqual(
		members.up.map(({ id }) => id),
		["real"],
	);
	assert.ok(members.hear(beatOf("another")));
	for (const id of ids) {
		now += 7000;
		members.hear(beatOf("real"));
		members.hear(beatOf(id));
		members.check();
	}
	assert.ok(kept() < membersAtMost);
	assert.ok(members.find("real"));
});
