/** Home Assistant: each device of this gateway appears there, by MQTT discovery. Loaded only with MQTT_URL. */

import { hostname } from "node:os";
import type { Core, Extension, Joined } from "../extension.js";
import { Broker } from "./broker.js";
import { Commands } from "./commands.js";
import { availabilityTopics, commandTopics, gatewayTopic, readTopic } from "./discovery.js";
import { States } from "./states.js";

const refreshMs = 2_000;

/** The last: at its opening the devices of all gateways are known. */
export function withHomeAssistant(joined: Joined): Joined {
	return { ...joined, extensions: [...joined.extensions, createHomeAssistant] };
}

function createHomeAssistant(core: Core): Extension {
	const { settings, log, metrics } = core;
	const { mqtt } = settings;
	if (!mqtt) throw new TypeError("MQTT_URL is not set.");
	// The same after a restart.
	const name = () => settings.gatewayName ?? `${hostname()}:${core.port()}`;
	const states = new States(core, mqtt, () => gatewayTopic(name()));
	const commands = new Commands(core, (device) => states.factsOf(device));
	const birthTopic = `${mqtt.prefix}/status`;
	const onError = (error: unknown) => log.error({ err: error }, "Home Assistant");
	let broker: Broker | undefined;
	let timer: NodeJS.Timeout | undefined;
	metrics.watch("gateway_mqtt_connected", "1: the MQTT broker is connected", () =>
		Number(broker?.isConnected),
	);

	const onMessage = (topic: string, payload: Buffer, isRetained: boolean) => {
		const text = payload.toString();
		// Home Assistant has started: it may have lost what it had.
		if (topic === birthTopic && text === "online" && !isRetained) return states.publishAll();
		const { deviceId, what } = readTopic(topic) ?? {};
		if (deviceId === undefined || what === undefined) return;
		if (topic.endsWith("/set")) commands.execute(deviceId, what, text, isRetained).catch(onError);
		else states.correct(deviceId, text, isRetained);
	};
	return {
		sessions: [states.sessions],
		open: async () => {
			await states.refresh();
			timer = setInterval(() => states.refresh().catch(onError), refreshMs).unref();
			broker = new Broker({
				settings: mqtt,
				clientId: `device-gateway-${name()}`,
				willTopic: gatewayTopic(name()),
				topics: [birthTopic, availabilityTopics, commandTopics],
				onConnected: (connection) => {
					log.info({ broker: mqtt.url }, "MQTT: connected");
					states.begin(connection).catch(onError);
				},
				onMessage,
				onProblem: (problem) => log.warn({ broker: mqtt.url, problem }, "MQTT: tried again until connected"),
			});
			broker.open();
		},
		close: async () => {
			clearInterval(timer);
			states.end();
			await broker?.close();
		},
	};
}
