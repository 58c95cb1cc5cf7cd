/** Broken speaker with its label, schedules and settings, and its replacement board. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { call, clientOf } from "../../support/call.js";
import { eventually } from "../../support/eventually.js";
import { quickPlan } from "../../support/released-fleet.js";
import { writeReleases } from "../../support/releases.js";
import { noRateLimits, type RunOptions } from "../../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../../support/scripted-device.js";

export const old = "dev-1-00000a";
export const next = "dev-1-00000b";
export const label = { name: "Lobby speaker", room: "Lobby", note: "by the plant", tags: ["beta", "shop"] };
/** Report of the old board, which is muted. */
export const settings = {
	"peripherals.audio.volume": 0,
	"peripherals.audio.muted": true,
	"peripherals.audio.unmuted_volume": 35,
	"peripherals.led_ring.brightness_coef": 0.25,
};

export interface Shown {
	readonly deviceId: string;
	readonly connected: boolean;
	readonly firmwareVersion: string | null;
	readonly name?: string;
	readonly before?: readonly (Readonly<Record<string, unknown>> & { readonly deviceId: string })[];
}

/** Options of a gateway on this folder, with the release of the rollout. */
export async function settingsOf(dataDir: string): Promise<RunOptions> {
	const releasesDir = join(dataDir, "releases");
	await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
	return {
		dataDir,
		releasesDir,
		limits: { ...noRateLimits.limits, snapshotDebounceMs: 10, replacementRetryMs: 50 },
	};
}

/** Resolves once the gateway shows the device like this. */
export function shows(url: string, deviceId: string, predicate: (shown: Shown) => boolean) {
	return eventually(() => call<Shown>(url, "GET", `devices/${deviceId}`), predicate);
}

/** Connects a device that reports and disconnects. */
export async function visit(
	options: ScriptedDeviceOptions & { readonly url: string },
): Promise<ScriptedDevice> {
	const { url, deviceId } = options;
	const device = await new ScriptedDevice(options).connect();
	await shows(url, deviceId, ({ firmwareVersion }) => firmwareVersion !== null);
	device.close();
	await shows(url, deviceId, ({ connected }) => !connected);
	return device;
}

/** Both are offline; the old board has a name, quiet hours, a schedule and a later rollout. */
export async function setUp(url: string): Promise<void> {
	await visit({ url, deviceId: old, report: settings });
	await visit({ url, deviceId: next });
	await call(url, "PATCH", `devices/${old}`, label);
	const hours = { targets: { device: old }, from: "22:00", until: "07:00", volume: 20 };
	await call(url, "PUT", "quiet-hours", hours);
	await call(url, "POST", "schedules", {
		name: "autumn",
		at: { weekly: { time: "17:50" } },
		do: { command: { payload: { command: "identify" }, targets: { devices: [old] } } },
	});
	const startsAt = new Date(Date.now() + 86_400_000).toISOString();
	const plan = quickPlan({ target: { devices: [old] }, startsAt });
	// A clustered gateway may still be loading rollouts or devices.
	await eventually(() => call(url, "PUT", "rollouts/autumn", plan));
}

/** Data of a device as created by `setUp`. */
export async function possessions(url: string, deviceId: string) {
	const { request } = clientOf(url);
	const { devices } = await request("GET /api/devices");
	const { quietHours } = await request("GET /api/quiet-hours");
	const { schedules } = await request("GET /api/schedules");
	const { devices: steps } = await request("GET /api/rollouts/:id/devices", { params: { id: "autumn" } });
	return {
		isKnown: devices.some((device) => device.deviceId === deviceId),
		name: devices.find((device) => device.deviceId === deviceId)?.name,
		quiet: quietHours.filter(({ targets }) => targets.device === deviceId).length,
		schedules: schedules.filter((schedule) => JSON.stringify(schedule.do).includes(`"${deviceId}"`)).length,
		steps: steps.filter((step) => step.deviceId === deviceId).map(({ status }) => status),
	};
}

const { name } = label;
const all = { isKnown: true, name, quiet: 1, schedules: 1, steps: ["queued"] };
const nothing = { isKnown: true, name: undefined, quiet: 0, schedules: 0, steps: [] };
const gone = { ...nothing, isKnown: false, steps: ["removed"] };

/** Resolves once this gateway shows everything as transferred. */
export async function transfers(url: string): Promise<void> {
	await eventually(
		async () => {
			const { before = [] } = await call<Shown>(url, "GET", `devices/${next}`);
			const kept = before.slice(0, 1).map(({ deviceId, name }) => ({ deviceId, name }));
			return [await possessions(url, old), await possessions(url, next), kept];
		},
		(shown) => isDeepStrictEqual(shown, [gone, all, [{ deviceId: old, name }]]),
	);
}

export async function isAsBefore(url: string): Promise<void> {
	assert.deepEqual(await possessions(url, old), all);
	assert.deepEqual(await possessions(url, next), nothing);
}
