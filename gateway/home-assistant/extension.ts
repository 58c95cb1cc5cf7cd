/** Home Assistant: each device of this gateway appears there, by MQTT discovery. Loaded only with MQTT_URL. */

import { hostname } from "node:os";
import { trimmed } from "../access/origin.js";
import type { Core, Extension, Joined } from "../extension.js";
import { Broker } from "./broker.js";
import { Commands } from "./commands.js";
import { Devices } from "./devices.js";

const refreshMs = 2_000;

/** The last: at its opening the devices of all gateways are known. */
export function withHomeAssistant(joined: Joined): Joined {
	return { ...joined, extensions: [...joined.extensions, createHomeAssistant] };
}

function createHomeAssistant(core: Core): Extension {
	const { settings, log, sessions } = core;
	const { mqtt } = settings;
	if (!mqtt) throw new TypeError("MQTT_URL is not set.");
	const { prefix } = mqtt;
	let broker: Broker | undefined;
	let timer: NodeJS.Timeout | undefined;

	const open = async () => {
		// The same after a restart.
		const name = settings.gatewayName ?? `${hostname()}:${core.port()}`;
		const base = `device-gateway/${encodeURIComponent(name)}`;
		broker = new Broker({
			core,
			mqtt,
			clientId: `device-gateway-${name}`,
			statusTopic: `${base}/status`,
			onConnected: () => {
				devices.publishAll();
				void broker?.subscribe([`${prefix}/status`, `${base}/+/availability`, `${base}/+/+/set`]);
			},
			onMessage: (topic, text, isRetained) => {
				const [, , deviceId = "", what = "", set] = topic.split("/");
				if (topic === `${prefix}/status`) {
					// Home Assistant has started: it may have lost what it had.
					if (text === "online" && !isRetained) devices.publishAll();
				} else if (set) commands.take(deviceId, what, text, isRetained);
				else if (isRetained) devices.remove(deviceId, true);
			},
		});
		const publicUrl = settings.publicUrl && trimmed(settings.publicUrl);
		const devices = new Devices({ core, broker, prefix, gateway: { name, base, publicUrl } });
		const commands = new Commands(core, (device) => devices.factsOf(device));
		const onError = (error: unknown) => log.error({ err: error }, "Home Assistant");
		sessions.listen(devices.sessions);
		await devices.refresh();
		timer = setInterval(() => devices.refresh().catch(onError), refreshMs).unref();
	};
	return {
		open,
		close: async () => {
			clearInterval(timer);
			broker?.close();
		},
	};
}
