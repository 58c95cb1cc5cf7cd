/** Tests of announcements at one of several gateways for devices of all. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { assertSameBytes } from "../../support/bytes.js";
import { eventually, waitUntil } from "../../support/eventually.js";
import { commandLine } from "../../support/gateway-settings.js";
import { bearer, deviceToken, monitorToken, temporaryDirectory } from "../../support/running.js";
import { type Clustered, runGateways } from "../cluster/gateways.js";
import { memoryBuses } from "../cluster/memory-buses.js";
import { ofFleet, SoundDevice, sha256, wav } from "./run.js";

async function connect(t: TestContext, { url }: Clustered, serial: string): Promise<SoundDevice> {
	const device = await new SoundDevice({ url, deviceId: `dev-1-${serial.padStart(6, "0")}` }).connect();
	t.after(() => device.close());
	return device;
}

/** Waits until this gateway shows the devices of an announcement with these states. */
async function shows({ api }: Clustered, id: string, states: object): Promise<void> {
	const read = async () => {
		const { body } = await api("GET", `/api/announcements/${id}`);
		const devices = Object(body.devices);
		const found = Array.isArray(devices) ? devices.map((device) => [device.deviceId, device.state]) : [];
		return Object.fromEntries(found.sort());
	};
	await eventually(read, (found) => JSON.stringify(found) === JSON.stringify(states));
}

test("plays a sound of one gateway on devices of another; any shows and stops it", ofFleet, async (t) => {
	const [a, b] = await runGateways(t, await memoryBuses(), 2);
	const here = await connect(t, a, "1");
	const there = await connect(t, b, "2");
	for (const gateway of [a, b])
		await waitUntil(async () => {
			const { devices } = Object(await gateway.api("GET", "/api/devices")).body;
			return devices.filter((device: { connected: boolean }) => device.connected).length === 2;
		});
	assert.equal((await a.api("POST", "/api/sounds?name=Dinner", wav)).status, 201);
	const frames = await b.open("/monitor?announcements", { headers: bearer(monitorToken) });

	const asked = { sound: sha256, targets: { all: true } };
	const { status, body } = await a.api("POST", "/api/announcements", asked);
	assert.equal(status, 202);
	const id = String(body.id);
	await shows(b, id, { "dev-1-000001": "playing", "dev-1-000002": "playing" });
	assert.deepEqual(there.urls, [`${b.url}/sounds/${sha256}.wav`]);
	const served = await fetch(there.urls[0] ?? "", { headers: bearer(deviceToken) });
	assertSameBytes(Buffer.from(await served.arrayBuffer()), wav);
	here.update(id, "played", { heard_ms: 500 });
	await shows(b, id, { "dev-1-000001": "played", "dev-1-000002": "playing" });
	assert.equal((await b.api("DELETE", `/api/announcements/${id}`)).status, 204);
	await shows(a, id, { "dev-1-000001": "played", "dev-1-000002": "stopped" });
	await frames.until((frame) => frame.type === "announcement_update" && Object(frame).isOver);
	const { body: list } = await b.api("GET", "/api/announcements");
	assert.equal(Object(list.announcements).length, 1);
	assert.equal((await b.api("DELETE", `/api/sounds/${sha256}`)).status, 204);
	await waitUntil(async () => Object(await a.api("GET", "/api/sounds")).body.sounds.length === 0);
});

test("shows 4,500 devices at any gateway, and reports a forgotten announcement or unreachable gateway", async (t) => {
	const buses = await memoryBuses();
	const [a, b] = await runGateways(t, buses, 2);
	const announce = async (count: number) => {
		const devices = Array.from({ length: count }, (_, index) => `dev-1-${String(index).padStart(6, "0")}`);
		const asked = { url: "http://radio.example/a.wav", targets: { devices } };
		const { status, body } = await a.api("POST", "/api/announcements", asked);
		assert.equal(status, 202);
		return String(body.id);
	};
	const id = await announce(4_500);
	const path = `/api/announcements/${id}`;
	await waitUntil(async () => (await b.api("GET", path)).status !== 404);
	const { body } = await b.api("GET", path);
	assert.deepEqual(body, (await a.api("GET", path)).body);
	assert.equal(Object(body.devices).length, 4_500);
	// Number of kept announcements.
	for (let more = 0; more < 100; more += 1) await announce(1);
	for (const method of ["GET", "DELETE"]) {
		const { status, body } = await b.api(method, path);
		const reason = [404, `No announcement has the id ${id}. GET /api/announcements lists all.`];
		assert.deepEqual([status, body.detail], reason);
	}
	await buses.cut(b.bus);
	const { status, body: problem } = await b.api("GET", path);
	assert.equal(status, 503);
	assert.match(String(problem.detail), /is unreachable/);
});

test("plays a text spoken by two gateways at once on both, in any order", async (t) => {
	const directory = await temporaryDirectory(t);
	await writeFile(join(directory, "a.wav"), wav);
	const environment = { SPEECH_COMMAND: commandLine("cat", join(directory, "a.wav")) };
	const [a, b] = await runGateways(t, await memoryBuses(), 2, { environment });
	const frames = await a.open("/monitor?announcements", { headers: bearer(monitorToken) });
	for (let round = 1; round <= 2; round += 1) {
		const here = await connect(t, a, `1${round}`);
		const there = await connect(t, b, `2${round}`);
		const begin = async ({ api }: Clustered, { deviceId }: SoundDevice) => {
			const asked = { text: `Dinner, ${round}`, targets: { devices: [deviceId] } };
			return String((await api("POST", "/api/announcements", asked)).body.id);
		};
		const [first, second] = await Promise.all([begin(a, here), begin(b, there)]);
		await shows(a, first, { [here.deviceId]: "playing" });
		await shows(b, second, { [there.deviceId]: "playing" });
		here.update(first, "played", { heard_ms: 500 });
		await frames.until((frame) => Object(frame).id === first && Object(frame).isOver === true);
		// Effects of its end reach the other gateway.
		for (const { api } of [a, b]) await api("GET", "/api/sounds");
		const [url = ""]: readonly string[] = there.urls;
		assert.equal((await fetch(url, { headers: bearer(deviceToken) })).status, 200);
	}
});
