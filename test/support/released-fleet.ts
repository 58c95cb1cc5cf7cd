/** Gateway with a release 1.4.0 for DEV-1, scripted devices, and rollouts over HTTP. */

import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Rollout } from "../../gateway/api/client/rollout.js";
import type { RequestedPlan } from "../../gateway/api/client/rollout-plan.js";
import type { GatewayOptions } from "../../gateway/gateway.js";
import { call } from "./call.js";
import { writeReleases } from "./releases.js";
import { noRateLimits, runGateway, temporaryDirectory } from "./running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "./scripted-device.js";

export interface ReleasedFleet {
	readonly url: string;
	readonly releasesDir: string;
	/** Devices `dev-1-000000` and so on with version 1.2.3. */
	readonly fleet: readonly ScriptedDevice[];
	/** Stops the gateway. @returns a function that starts it again at the same address */
	stopGateway(): Promise<() => Promise<void>>;
}

export async function runReleasedFleet(
	t: TestContext,
	devices: readonly Partial<ScriptedDeviceOptions>[],
	options: GatewayOptions = {},
): Promise<ReleasedFleet> {
	const dataDir = await temporaryDirectory(t);
	const releasesDir = join(dataDir, "releases");
	await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
	const limits = { ...noRateLimits.limits, snapshotDebounceMs: 10 };
	const settings = { dataDir, releasesDir, limits, ...options };
	const { gateway, url } = await runGateway(t, settings);
	const fleet: ScriptedDevice[] = [];
	// One after another: a rollout takes them in the order in which the gateway learned of them.
	for (const [index, device] of devices.entries()) {
		const deviceId = `dev-1-${String(index).padStart(6, "0")}`;
		fleet.push(await new ScriptedDevice({ url, deviceId, ...device }).connect());
	}
	t.after(() => {
		for (const device of fleet) device.close();
	});
	return {
		url,
		releasesDir,
		fleet,
		async stopGateway() {
			await gateway.close();
			return async () => void (await runGateway(t, { ...settings, port: Number(new URL(url).port) }));
		},
	};
}

/** Plan for all of DEV-1 without soak time. */
export function quickPlan(change: Partial<RequestedPlan> = {}): RequestedPlan {
	const groups = [{ size: "rest", soakSeconds: 0 }];
	return { firmware: { version: "1.4.0" }, target: { model: "DEV-1" }, groups, ...change };
}

export async function putRollout(url: string, id: string, plan = quickPlan()): Promise<void> {
	await call(url, "PUT", `rollouts/${id}`, plan);
}

export async function postRolloutAction(url: string, id: string, action: string): Promise<void> {
	await call(url, "POST", `rollouts/${id}/${action}`);
}

export async function getRollout(url: string, id: string): Promise<Rollout> {
	return call(url, "GET", `rollouts/${id}`);
}

export async function rolloutIds(url: string): Promise<readonly string[]> {
	const { rollouts } = await call<{ rollouts: readonly Rollout[] }>(url, "GET", "rollouts");
	return rollouts.map(({ id }) => id);
}
