/** Home Assistant: publishes the devices of this gateway by MQTT discovery. Loaded only with MQTT_URL. */

import { trimmed } from "../access/origin.js";
import type { Core, Extension, LoadedExtensions } from "../extension.js";
import { Broker } from "./broker.js";
import { EntityCommands } from "./commands.js";
import { Devices } from "./devices.js";
import { baseOf } from "./discovery.js";
import { EventEntities } from "./events.js";
import { type MqttSettings, mqtt } from "./settings.js";

const refreshMs = 2_000;

/**
 * Must be the last extension, opened when the devices of all gateways are known.
 * @throws {TypeError} without MQTT_URL
 */
export function withHomeAssistant(
	joined: LoadedExtensions,
	server = mqtt.read(joined.environment ?? {}),
): LoadedExtensions {
	if (!server) throw new TypeError("MQTT_URL is not set.");
	return { ...joined, extensions: [...joined.extensions, (core) => createHomeAssistant(core, server)] };
}

function createHomeAssistant(core: Core, server: MqttSettings): Extension {
	const { settings, log } = core;
	const { prefix } = server;
	let broker: Broker | undefined;
	let timer: NodeJS.Timeout | undefined;

	const open = async () => {
		// Stable across restarts.
		const name = core.name();
		const base = baseOf(name);
		const opened = new Broker({
			core,
			mqtt: server,
			clientId: `device-gateway-${name}`,
			statusTopic: `${base}/status`,
			topics: [`${prefix}/status`, `${prefix}/device/+/config`, `${base}/#`],
			onReady: () => void devices.publishAll(),
			onMessage: (topic, text, isRetained) => {
				if (topic === `${prefix}/status`) {
					// Home Assistant has started and may have lost its state.
					if (text === "online" && !isRetained && opened.isReady) void devices.publishAll();
				} else if (topic.startsWith(`${base}/`)) {
					const [deviceId = "", what = "", set] = topic.slice(base.length + 1).split("/");
					if (set) commands.take(deviceId, what, text, isRetained);
					else devices.onOwn(topic, deviceId, text, isRetained);
				} else devices.onDiscovery(topic, text);
			},
		});
		broker = opened;
		const publicUrl = settings.publicUrl && trimmed(settings.publicUrl);
		const gateway = { name, base, publicUrl };
		const devices = new Devices({ core, broker, prefix, gateway });
		const commands = new EntityCommands(core, (device) => devices.factsOf(device));
		core.events.on(devices.listeners);
		core.events.on(new EventEntities({ core, broker, base }).listeners);
		await devices.refresh();
		const onError = (error: unknown) => log.error({ err: error }, "Home Assistant");
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
