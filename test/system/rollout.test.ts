import assert from "node:assert/strict";
import { test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { waitUntil } from "../support/eventually.js";
import { type Fleet, runFleet } from "../support/fleet.js";
import { bearer, monitorToken } from "../support/running.js";
import { pass, passUntil } from "../support/virtual-time.js";

/** Response fields depend on the route. */
interface Answer {
	readonly counts: Readonly<Record<string, number>>;
	readonly devices: readonly {
		readonly status: string;
		readonly attempts: number;
		readonly reason: string | null;
	}[];
}

async function call(fleet: Fleet, method: string, path: string, body?: object) {
	const response = await fetch(`${fleet.url}/api/${path}`, {
		method,
		headers: bearer(monitorToken),
		...(body && { body: JSON.stringify(body) }),
	});
	const answer: Answer = JSON.parse(await response.text());
	return answer;
}

/** Resolves once a rollout has this status in the monitor's notifications. */
async function reaches(fleet: Fleet, id: string, predicate: (frame: Shown) => boolean): Promise<Shown> {
	const watcher = await fleet.open("/monitor?rollouts", { headers: bearer(monitorToken) });
	for (;;) {
		const frame = JSON.parse(await watcher.nextText());
		if (frame.type !== "rollout_update" || frame.id !== id || !predicate(frame)) continue;
		watcher.socket.close();
		return frame;
	}
}

interface Shown {
	readonly status: string;
	readonly pausedBecause: string | null;
	readonly counts: Readonly<Record<string, number>>;
}

test("an image with a mute codec stops at the canary", async (t) => {
	const fleet = await runFleet(t);
	const { bytes } = await buildFirmware({
		"board/es8311": "test/hosts/virtual/xs/firmware/dead-codec.ts",
	});
	await fleet.release("2.0.0", makeVirtualImage(bytes, "DEV-1", "2.0.0"));
	const canary = await fleet.powerOn("DEV-1", { version: "1.0.0", clock: "virtual", serial: "000001" });
	await canary.report();
	const other = await fleet.powerOn("DEV-1", { version: "1.0.0", serial: "000002" });
	await other.report();
	const paused = reaches(fleet, "mute", ({ status }) => status === "paused");
	await call(fleet, "PUT", "rollouts/mute", {
		firmware: { version: "2.0.0" },
		target: { devices: [canary.deviceId, other.deviceId] },
		groups: [{ size: 1 }, { size: "rest" }],
	});
	const { pausedBecause, counts } = await passUntil(canary.device, paused);
	assert.equal(pausedBecause, "failures");
	assert.deepEqual([counts.rolled_back, counts.queued], [1, 1]);
	const { devices } = await call(fleet, "GET", "rollouts/mute/devices");
	assert.deepEqual(
		devices.map(({ status, attempts }) => [status, attempts]),
		[
			["rolled_back", 1],
			["queued", 0],
		],
	);
	assert.match(devices[0]?.reason ?? "", /reverted to 1\.0\.0/);
});

test("a device that was offline is updated after its return, without an open page", async (t) => {
	let skewMs = 0;
	const fleet = await runFleet(t, undefined, { monotonic: () => performance.now() + skewMs });
	const { bytes } = await buildFirmware();
	await fleet.release("2.0.0", makeVirtualImage(bytes, "DEV-1", "2.0.0"));
	const { device, deviceId, report } = await fleet.powerOn("DEV-1", { version: "1.0.0", clock: "virtual" });
	await report();
	const { accessPoint } = device.board;
	device.board.accessPoint = undefined;
	await passUntil(device, fleet.monitorClient.change("disconnected"));
	fleet.monitorClient.socket.close();
	const plan = {
		firmware: { version: "2.0.0" },
		target: { model: "DEV-1" },
		groups: [{ size: "rest", soakSeconds: 120 }],
	};
	const { counts } = await call(fleet, "PUT", "rollouts/away", plan);
	assert.equal(counts.queued, 1);

	device.board.accessPoint = accessPoint;
	const stepOf = async () => (await call(fleet, "GET", "rollouts/away/devices")).devices[0];
	const headers = bearer(monitorToken);
	const metrics = async () => (await fetch(`${fleet.url}/metrics`, { headers })).text();
	const connected = async () => /^gateway_sessions 1$/m.test(await metrics());
	await waitUntil(connected, () => pass(device, 100));
	const soaking = reaches(fleet, "away", ({ counts }) => counts.soaking === 1);
	// The rollout has to notice it, and then waits for at most 10 s.
	await waitUntil(
		async () => (await stepOf())?.status !== "queued",
		async () => {
			await pass(device, 100);
			skewMs += 1000;
		},
	);
	await passUntil(device, soaking);
	assert.equal((await stepOf())?.attempts, 1);
	await pass(device, 130_000);
	skewMs += 120_000;
	const { counts: ended } = await passUntil(
		device,
		reaches(fleet, "away", ({ status }) => status === "finished"),
	);
	assert.equal(ended.succeeded, 1);
	assert.equal(device.started.version, "2.0.0");
	assert.equal(device.isPendingVerify, false);
	await call(fleet, "PUT", "rollouts/away", plan);
	assert.deepEqual((await stepOf())?.status, "succeeded", deviceId);
});
