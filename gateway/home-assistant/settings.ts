import { StartError } from "../problem.js";
import {
	readFileOf,
	readUnquoted,
	readVariable,
	rejectWithout,
	type Setting,
	serverUrl,
} from "../setting.js";

export interface MqttSettings {
	/** URL without credentials. */
	readonly url: string;
	readonly username: string | undefined;
	readonly password: string | undefined;
	/** PEM; undefined: CA certificates of the system. */
	readonly authority: Buffer | undefined;
	/** Prefix of the discovery topics. */
	readonly prefix: string;
}

/** Broker of Home Assistant; undefined: none. The URL may contain a password, so it is not shown. */
export const mqtt: Setting<MqttSettings | undefined> = {
	variables: {
		MQTT_URL: {
			description:
				"MQTT 5 broker of Home Assistant, `mqtt://` or `mqtts://`; see [Home Assistant](home-assistant/README.md)",
		},
		MQTT_USERNAME: { description: "user name; or `mqtt://user:password@host` in `MQTT_URL`" },
		MQTT_PASSWORD: { description: "password; likewise" },
		MQTT_CA_FILE: {
			byDefault: "the system's",
			description: "PEM file with the authority of the broker's certificate",
		},
		MQTT_DISCOVERY_PREFIX: {
			byDefault: "`homeassistant`",
			description: "topic prefix of MQTT discovery",
		},
	},
	read: (environment) => {
		const address = readVariable(environment, "MQTT_URL");
		// May begin and end with any character except a line break.
		const password =
			readUnquoted(environment, "MQTT_PASSWORD") &&
			environment.MQTT_PASSWORD?.replace(/^\ufeff|[\r\n]+$/g, "");
		if (address === undefined) {
			rejectWithout(environment, "MQTT_URL", Object.keys(mqtt.variables));
			return undefined;
		}
		const server = serverUrl("MQTT_URL", address, ["mqtt:", "mqtts:"]);
		if (!server || !/^\/?$/.test(server.url.pathname + server.url.search))
			throw new StartError("MQTT_URL is invalid. Set it to a URL such as mqtts://broker.example:8883.");
		const { protocol, host } = server.url;
		if (protocol === "mqtt:" && readVariable(environment, "MQTT_CA_FILE") !== undefined)
			throw new StartError("MQTT_CA_FILE requires mqtts://. Change MQTT_URL or remove MQTT_CA_FILE.");
		const prefix = readVariable(environment, "MQTT_DISCOVERY_PREFIX") ?? "homeassistant";
		if (!/^[^+#/\p{C}]+(\/[^+#/\p{C}]+)*$/u.test(prefix))
			throw new StartError("MQTT_DISCOVERY_PREFIX is invalid. Set it to a topic such as homeassistant.");
		return {
			url: `${protocol}//${host}`,
			username: readVariable(environment, "MQTT_USERNAME") ?? server.username,
			password: password ?? server.password,
			authority: readFileOf(environment, "MQTT_CA_FILE", "a PEM file"),
			prefix,
		};
	},
};
