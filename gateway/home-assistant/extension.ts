/** Home Assistant: each device of this gateway appears there, by MQTT discovery. Loaded only with MQTT_URL. */

import { hostname } from "node:os";
import { connect, type MqttClient } from "mqtt";
import { trimmed } from "../access/origin.js";
import type { Core, Extension, Joined } from "../extension.js";
import { Commands } from "./commands.js";
import { Devices } from "./devices.js";

const refreshMs = 2_000;
const reconnectMs = 2_000;
/** The broker sends no larger message. */
const maximumPacketSize = 64 * 1024;

/** The last: at its opening the devices of all gateways are known. */
export function withHomeAssistant(joined: Joined): Joined {
	return { ...joined, extensions: [...joined.extensions, createHomeAssistant] };
}

function createHomeAssistant(core: Core): Extension {
	const { settings, log, metrics, sessions } = core;
	const { mqtt } = settings;
	if (!mqtt) throw new TypeError("MQTT_URL is not set.");
	const { url, prefix, username, password, authority } = mqtt;
	const publishes = metrics.counter("gateway_mqtt_publishes_total", "Messages to the MQTT broker");
	let client: MqttClient | undefined;
	let timer: NodeJS.Timeout | undefined;
	metrics.watch("gateway_mqtt_connected", "1: the MQTT broker is connected", () =>
		Number(client?.connected === true),
	);

	const open = async () => {
		// The same after a restart.
		const name = settings.gatewayName ?? `${hostname()}:${core.port()}`;
		const base = `device-gateway/${encodeURIComponent(name)}`;
		client = connect(url, {
			...(username !== undefined && { username }),
			...(password !== undefined && { password }),
			...(authority && { ca: authority }),
			protocolVersion: 5,
			// The broker ends an older connection with the same one.
			clientId: `device-gateway-${name}`,
			reconnectPeriod: reconnectMs,
			reconnectOnConnackError: true,
			properties: { maximumPacketSize },
			will: { topic: `${base}/status`, payload: Buffer.from("offline"), qos: 1, retain: true },
		});
		const publicUrl = settings.publicUrl && trimmed(settings.publicUrl);
		const devices = new Devices({ core, client, prefix, gateway: { name, base, publicUrl } });
		const commands = new Commands(core, (device) => devices.factsOf(device));
		const topics = [`${prefix}/status`, `${base}/+/availability`, `${base}/+/+/set`];
		const onError = (error: unknown) => log.error({ err: error }, "Home Assistant");
		let problem = "";
		/** Once for each reason, until it is connected again. */
		const report = (reason: string) => {
			if (reason !== problem) log.warn({ broker: url, problem: reason }, "MQTT: tried again until connected");
			problem = reason;
		};
		client.on("connect", () => {
			problem = "";
			log.info({ broker: url }, "MQTT: connected");
			devices.publishAll();
			client
				?.subscribeAsync(topics, { qos: 1, nl: true })
				.catch((error: unknown) => report(`a subscription was refused: ${error}`));
		});
		client.on("message", (topic, payload, { retain: isRetained }) => {
			const text = payload.toString();
			const [, , deviceId = "", what = "", set] = topic.split("/");
			if (topic === `${prefix}/status`) {
				// Home Assistant has started: it may have lost what it had.
				if (text === "online" && !isRetained) devices.publishAll();
			} else if (set) commands.take(deviceId, what, text, isRetained);
			else if (isRetained) devices.remove(deviceId, true);
		});
		client.on("packetsend", ({ cmd }) => cmd === "publish" && publishes.inc());
		client.on("error", (error) => report(error.message || String(error)));
		client.on("disconnect", ({ reasonCode }) => report(`the broker ended the connection (${reasonCode})`));
		client.on("offline", () => report(problem || "the connection was lost"));
		sessions.listen(devices.sessions);
		await devices.refresh();
		timer = setInterval(() => devices.refresh().catch(onError), refreshMs).unref();
	};
	return {
		open,
		close: async () => {
			clearInterval(timer);
			// Without a DISCONNECT packet: the broker then publishes the will (MQTT 5, section 3.1.2.5).
			client?.end(true);
		},
	};
}
