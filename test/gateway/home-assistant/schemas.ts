/**
 * What Home Assistant accepts in a discovery message: facts from homeassistant/components/mqtt of
 * https://github.com/home-assistant/core (Apache-2.0), by file: schemas.py (device, origin, availability and the options of all
 * platforms), config.py (base, read-only, read-write), and <platform>.py, light/schema_json.py, discovery.py. Other options it
 * would leave out without a word.
 */

import assert from "node:assert/strict";

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === "string";
const flag: Check = (value) => typeof value === "boolean";
const number: Check = (value) => typeof value === "number" && Number.isFinite(value);
const texts: Check = (value) => Array.isArray(value) && value.length > 0 && value.every(text);
const oneOf =
	(...values: readonly unknown[]): Check =>
	(value) =>
		values.includes(value);
/** util.py, valid_topic. */
const topic: Check = (value) => typeof value === "string" && value.length > 0 && !/[+#\0]/.test(value);
/** config_validation.py, icon. */
const icon: Check = (value) => /^[^:]+:[^:]+$/.test(String(value));

interface Platform {
	readonly required: readonly string[];
	readonly options: Readonly<Record<string, Check>>;
}

/** schemas.py, MQTT_ENTITY_COMMON_SCHEMA; config.py, MQTT_BASE_SCHEMA. */
const common: Platform["options"] = {
	platform: text,
	unique_id: text,
	name: text,
	icon,
	entity_category: oneOf("config", "diagnostic"),
	enabled_by_default: flag,
	qos: oneOf(0, 1, 2),
};
const readOnly = { state_topic: topic };
const readWrite = { state_topic: topic, command_topic: topic, optimistic: flag, retain: flag };

export const platforms: Readonly<Record<string, Platform>> = {
	number: {
		required: ["command_topic"],
		options: { ...readWrite, min: number, max: number, step: number, unit_of_measurement: text },
	},
	light: {
		required: ["command_topic", "schema"],
		options: {
			...readWrite,
			schema: oneOf("json"),
			brightness: flag,
			effect: flag,
			effect_list: texts,
			flash: flag,
			transition: flag,
		},
	},
	siren: {
		required: ["command_topic"],
		options: { ...readWrite, available_tones: texts, support_duration: flag, support_volume_set: flag },
	},
	notify: { required: ["command_topic"], options: { command_topic: topic, retain: flag } },
	button: {
		required: ["command_topic"],
		options: {
			command_topic: topic,
			// components/button/__init__.py, ButtonDeviceClass
			device_class: oneOf("identify", "restart", "update"),
			payload_press: text,
		},
	},
	event: {
		required: ["state_topic", "event_types"],
		options: {
			...readOnly,
			// components/event/__init__.py, EventDeviceClass
			device_class: oneOf("button", "doorbell", "motion"),
			event_types: texts,
		},
	},
	binary_sensor: { required: ["state_topic"], options: { ...readOnly, payload_on: text, payload_off: text } },
	sensor: {
		required: ["state_topic"],
		options: {
			...readOnly,
			// components/sensor/const.py, SensorDeviceClass with DEVICE_CLASS_UNITS
			device_class: oneOf("signal_strength", "data_size"),
			state_class: oneOf("measurement", "total", "total_increasing"),
			unit_of_measurement: oneOf("dBm", "dB", "B", "kB", "KiB"),
		},
	},
	update: {
		required: ["state_topic"],
		options: {
			...readOnly,
			command_topic: topic,
			// components/update/__init__.py, UpdateDeviceClass
			device_class: oneOf("firmware"),
			payload_install: text,
		},
	},
};

/** schemas.py, MQTT_ENTITY_DEVICE_INFO_SCHEMA. */
const deviceOptions: Readonly<Record<string, Check>> = {
	identifiers: texts,
	name: text,
	model: text,
	hw_version: text,
	serial_number: text,
	sw_version: text,
	suggested_area: text,
	configuration_url: (value) => /^https?:\/\//.test(String(value)),
};

export interface Discovery {
	readonly device: Readonly<Record<string, unknown>>;
	readonly availability: readonly { readonly topic: string }[];
	readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** @returns the message without components that it only removes; throws if Home Assistant would refuse or leave out a part */
export function checkDiscovery(topicName: string, content: string): Discovery {
	// discovery.py, TOPIC_MATCHER
	assert.match(topicName, /^homeassistant\/device\/[a-zA-Z0-9_-]+\/config$/);
	const message = JSON.parse(content);
	checkOptions("device", deviceOptions, message.device);
	assert.ok(message.device.identifiers);
	assert.ok(text(message.origin.name));
	assert.equal(message.availability_mode, "all");
	for (const each of message.availability) assert.ok(topic(each.topic));
	const components: Record<string, Discovery["components"][string]> = {};
	const ids = new Set<unknown>();
	for (const [key, component] of Object.entries<Record<string, unknown>>(message.components)) {
		const platform = platforms[String(component.platform)];
		assert.ok(platform, `${key}: no such platform`);
		if (Object.keys(component).length === 1) continue;
		checkOptions(key, { ...common, ...platform.options }, component);
		for (const name of [...platform.required, "unique_id"])
			assert.ok(name in component, `${key}: no ${name}`);
		assert.ok(!ids.has(component.unique_id), `${key}: not unique`);
		ids.add(component.unique_id);
		components[key] = component;
	}
	return { ...message, components };
}

function checkOptions(what: string, checks: Readonly<Record<string, Check>>, values: object): void {
	for (const [name, value] of Object.entries(values))
		assert.ok(checks[name]?.(value), `${what}: ${name}: ${JSON.stringify(value)}`);
}

/** Whether an entity would take a state. */
export function checkState(platform: string, config: Readonly<Record<string, unknown>>, state: string): void {
	const problem = `${config.unique_id}: ${state}`;
	switch (platform) {
		case "number":
			assert.ok(Number(state) >= Number(config.min) && Number(state) <= Number(config.max), problem);
			return;
		case "binary_sensor":
		case "siren":
			assert.match(state, /^(ON|OFF)$/, problem);
			return;
		case "light": {
			const { state: power, brightness, effect } = JSON.parse(state);
			assert.match(power, /^(ON|OFF)$/, problem);
			assert.ok(Number.isInteger(brightness) && brightness >= 0 && brightness <= 255, problem);
			assert.ok(Array.isArray(config.effect_list) && config.effect_list.includes(effect), problem);
			return;
		}
		case "event": {
			const { event_type: type } = JSON.parse(state);
			assert.ok(Array.isArray(config.event_types) && config.event_types.includes(type), problem);
			return;
		}
		case "sensor":
			// sensor/__init__.py: one with a state class must be a number; states are at most 255 characters.
			assert.ok(config.state_class === undefined || Number.isFinite(Number(state)), problem);
			assert.ok(state.length <= 255, problem);
			return;
		case "update": {
			// update.py, MQTT_JSON_UPDATE_SCHEMA; components/update/__init__.py: a summary has at most 255 characters.
			const { installed_version, latest_version, release_summary, in_progress, update_percentage, ...rest } =
				JSON.parse(state);
			assert.ok([installed_version, latest_version, release_summary].every(text), problem);
			assert.ok(release_summary.length <= 255 && flag(in_progress), problem);
			assert.ok(update_percentage === null || (update_percentage >= 0 && update_percentage <= 100), problem);
			assert.deepEqual(rest, {});
			return;
		}
		default:
			assert.fail(`${problem}: this platform has no state`);
	}
}
