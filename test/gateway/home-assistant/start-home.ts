/** Gateway with a broker, a simulated Home Assistant, a DEV-1 release, and devices, in virtual time. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { features } from "../../../device/protocol/messages.js";
import type { Change } from "../../../gateway/access/access.js";
import type { GatewayOptions } from "../../../gateway/core.js";
import { Events } from "../../../gateway/events.js";
import { extensions } from "../../../gateway/extensions.js";
import { withHomeAssistant } from "../../../gateway/home-assistant/extension.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { runFast } from "../../support/fast-time.js";
import { commandLine } from "../../support/gateway-settings.js";
import { type Broker, startBroker } from "../../support/home-assistant/broker.js";
import { SimulatedHomeAssistant } from "../../support/home-assistant/simulated-home-assistant.js";
import { ReconnectingDevice } from "../../support/reconnecting-device.js";
import { writeReleases } from "../../support/releases.js";
import { noRateLimits, runGateway, temporaryDirectory } from "../../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../../support/scripted-device.js";
import { tone, wav } from "../../support/sounds.js";

export const dev = "dev-1-a1b2c3";
export const proto = "proto-1-a1b2c3";

/** @returns the option for text-to-speech that produces a short sound for any text */
export async function voice(t: TestContext) {
	const file = join(await temporaryDirectory(t), "voice.wav");
	await writeFile(file, wav(tone(3200)));
	return { environment: { SPEECH_COMMAND: commandLine("cat", file) } };
}

/** Devices that reconnect by themselves, DEV-1 and PROTO-1 by id. */
export function runDevices(t: TestContext, ids: readonly string[], url: () => string): void {
	for (const deviceId of ids) {
		const model = deviceId.startsWith("dev") ? "DEV-1" : "PROTO-1";
		const times = { reconnectMs: () => 100, updateMs: () => 5_000 };
		const device = new ReconnectingDevice({ url, deviceId, model, features, ...times });
		t.after(() => device.end());
		void device.run();
	}
}

/** Whether each is available and has the states of all of its entities. */
export function isWhole(home: SimulatedHomeAssistant, ids: readonly string[]): boolean {
	return ids.every((id) => home.isAvailable(id) && home.unknown(id).length === 0);
}

/** @param options options of the gateway @param rejects whether the broker rejects a topic */
export async function startHome(
	t: TestContext,
	options: GatewayOptions = {},
	rejects: Broker["rejects"] = () => false,
) {
	const { monotonic } = runFast(t, ["setInterval", "setTimeout"]);
	const broker = Object.assign(await startBroker(t), { rejects });
	const home = await SimulatedHomeAssistant.start(t, broker);
	const dataDir = await temporaryDirectory(t);
	const releasesDir = join(dataDir, "releases");
	await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
	/** Rejected commands. */
	const lines: Record<string, unknown>[] = [];
	/** Counts of commands that were replaced by newer ones. */
	const replaced: number[] = [];
	const changes: Change[] = [];
	const write = (line: string) => {
		const entry = JSON.parse(line);
		if (entry.msg === "Home Assistant: command rejected") lines.push(entry);
		if (entry.msg.startsWith("Home Assistant: rate limit exceeded")) replaced.push(entry.count);
	};
	const run = (more: GatewayOptions = {}) => {
		const events = new Events();
		events.on({ changed: (change) => changes.push(change) });
		return runGateway(t, {
			...noRateLimits,
			monotonic,
			dataDir,
			releasesDir,
			gatewayName: "hall",
			...withHomeAssistant({ extensions }, broker.settings),
			events,
			log: createLog("warn", { write }),
			...options,
			...more,
		});
	};
	const running = await run();
	const add = async (deviceId: string, more: Partial<ScriptedDeviceOptions> = {}) => {
		const model = deviceId.startsWith("proto") ? "PROTO-1" : "DEV-1";
		return ScriptedDevice.join(t, { url: running.url, deviceId, model, ...more });
	};
	/** Resolves once these devices are available. */
	const ready = (...ids: readonly string[]) => home.until(() => ids.every((id) => home.isAvailable(id)));
	const set = (deviceId: string, key: string, payload: string, retain = false) =>
		home.publish(`device-gateway/hall/${deviceId}/${key}/set`, payload, retain);
	return { ...running, monotonic, run, broker, home, add, ready, set, lines, replaced, changes };
}
