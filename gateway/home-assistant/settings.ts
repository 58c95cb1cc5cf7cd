import { StartError } from "../problem.js";
import { contentOf, given, refuseWithout, type Setting, serverUrl, trimmed } from "../setting.js";

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
				"the broker of Home Assistant, `mqtt://` or `mqtts://`, of MQTT 5; see [Home Assistant](home-assistant/README.md)",
		},
		MQTT_USERNAME: { description: "or `mqtt://user:password@host` in `MQTT_URL`" },
		MQTT_PASSWORD: { description: "as `MQTT_USERNAME`" },
		MQTT_CA_FILE: {
			byDefault: "the system's",
			description: "a PEM file with the authority of the broker's certificate",
		},
		MQTT_DISCOVERY_PREFIX: {
			byDefault: "`homeassistant`",
			description: "of the topics that Home Assistant reads",
		},
	},
	read: (environment) => {
		const address = given(environment, "MQTT_URL");
		// It may begin and end with anything but a line break.
		const password =
			trimmed(environment, "MQTT_PASSWORD") && environment.MQTT_PASSWORD?.replace(/^\ufeff|[\r\n]+$/g, "");
		if (address === undefined) {
			refuseWithout(environment, "MQTT_URL", [
				"MQTT_USERNAME",
				"MQTT_PASSWORD",
				"MQTT_CA_FILE",
				"MQTT_DISCOVERY_PREFIX",
			]);
			return undefined;
		}
		const server = serverUrl("MQTT_URL", address, ["mqtt:", "mqtts:"]);
		if (!server || !/^\/?$/.test(server.url.pathname + server.url.search))
			throw new StartError("MQTT_URL is not an address such as mqtts://broker.example:8883; correct it.");
		const { protocol, host } = server.url;
		if (protocol === "mqtt:" && given(environment, "MQTT_CA_FILE") !== undefined)
			throw new StartError(
				"MQTT_CA_FILE requires mqtts://; set MQTT_URL to such an address, or leave MQTT_CA_FILE out.",
			);
		const prefix = given(environment, "MQTT_DISCOVERY_PREFIX") ?? "homeassistant";
		if (!/^[^+#/\p{C}]+(\/[^+#/\p{C}]+)*$/u.test(prefix))
			throw new StartError("MQTT_DISCOVERY_PREFIX is not a topic such as homeassistant; correct it.");
		return {
			url: `${protocol}//${host}`,
			username: given(environment, "MQTT_USERNAME") ?? server.username,
			password: password ?? server.password,
			authority: contentOf(environment, "MQTT_CA_FILE", "a PEM file"),
			prefix,
		};
	},
};
