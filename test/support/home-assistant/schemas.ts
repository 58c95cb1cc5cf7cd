/**
 * Validation of discovery messages as in Home Assistant, for the options that the gateway sends. Facts from
 * homeassistant/components/mqtt of https://github.com/home-assistant/core (Apache-2.0), by file, valid since 2024.12.
 * There an unknown option of an entity is silently removed (REMOVE_EXTRA); any other error rejects the entity or the
 * device.
 */

import assert from "node:assert/strict";

type Check = (value: unknown) => boolean;
type Options = Readonly<Record<string, Check>>;

const text: Check = (value) => typeof value === "string";
const flag: Check = (value) => typeof value === "boolean";
const number: Check = (value) => typeof value === "number" && Number.isFinite(value);
const atLeast =
	(least: number): Check =>
	(value) =>
		number(value) && Number(value) >= least;
const count: Check = (value) => Number.isInteger(value) && Number(value) >= 0;
const texts: Check = (value) => Array.isArray(value) && value.length > 0 && value.every(text);
const oneOf =
	(...values: readonly unknown[]): Check =>
	(value) =>
		values.includes(value);
/** util.py, valid_topic, and valid_publish_topic, which is as strict as our own topics are. */
const topic: Check = (value) =>
	typeof value === "string" && /^[^+#\p{C}]+$/u.test(value) && Buffer.byteLength(value) <= 65_535;
/** The gateway's templates; Jinja has more. */
const templatePattern = /^\{\{ value_json\.(\w+)( \| to_json)? \}\}$/;
const template: Check = (value) => templatePattern.test(String(value));
/** helpers/config_validation.py, icon. */
const icon: Check = (value) => /^[^:]+:[^:]+$/.test(String(value));
/** helpers/config_validation.py, configuration_url. */
const configurationUrl: Check = (value) => /^(https?|homeassistant):\/\/[^/]/.test(String(value));

interface Platform {
	/** Source of its options below homeassistant/components/mqtt. */
	readonly source: string;
	readonly required: readonly string[];
	readonly options: Options;
	/** Checks beyond single options. */
	readonly isSound: (config: Readonly<Record<string, unknown>>) => boolean;
}

/** schemas.py, MQTT_ENTITY_COMMON_SCHEMA, and config.py, SCHEMA_BASE. */
const common: Options = {
	platform: text,
	unique_id: text,
	name: text,
	icon,
	entity_category: oneOf("config", "diagnostic"),
	enabled_by_default: flag,
	qos: oneOf(0, 1, 2),
};
/** config.py, MQTT_RO_SCHEMA. */
const readOnly: Options = { state_topic: topic, value_template: template };
/** config.py, MQTT_RW_SCHEMA. */
const readWrite: Options = { state_topic: topic, command_topic: topic };

function platform(
	source: string,
	required: readonly string[],
	options: Options,
	isSound: Platform["isSound"] = () => true,
): Platform {
	return { source, required, options, isSound };
}

const writable = ["command_topic"];
const readable = ["state_topic"];

export const platforms: Readonly<Record<string, Platform>> = {
	number: platform(
		"number.py",
		writable,
		{
			...readWrite,
			value_template: template,
			min: number,
			max: number,
			step: atLeast(0.001),
			unit_of_measurement: text,
		},
		// validate_config
		({ min = 1, max = 100 }) => Number(min) < Number(max),
	),
	light: platform("light/schema_basic.py", writable, {
		...readWrite,
		state_value_template: template,
		on_command_type: oneOf("first", "last", "brightness"),
		brightness_scale: atLeast(1),
		brightness_command_topic: topic,
		brightness_state_topic: topic,
		brightness_value_template: template,
		effect_list: texts,
		effect_command_topic: topic,
		effect_state_topic: topic,
		effect_value_template: template,
		rgb_command_topic: topic,
		rgb_state_topic: topic,
		rgb_value_template: template,
	}),
	switch: platform("switch.py", writable, { ...readWrite, value_template: template }),
	text: platform("text.py", writable, {
		...readWrite,
		value_template: template,
		min: count,
		max: count,
		pattern: (value) => text(value) && new RegExp(String(value)).source === value,
	}),
	siren: platform("siren.py", writable, {
		...readWrite,
		available_tones: texts,
		state_value_template: template,
	}),
	notify: platform("notify.py", writable, { command_topic: topic }),
	button: platform("button.py", writable, {
		command_topic: topic,
		// components/button/__init__.py, ButtonDeviceClass
		device_class: oneOf("identify", "restart", "update"),
	}),
	event: platform("event.py", [...readable, "event_types"], {
		...readOnly,
		// components/event/const.py, EventDeviceClass
		device_class: oneOf("button", "doorbell", "motion"),
		event_types: texts,
	}),
	binary_sensor: platform("binary_sensor.py", readable, {
		...readOnly,
		// components/binary_sensor/__init__.py, BinarySensorDeviceClass
		device_class: oneOf("connectivity"),
		payload_on: text,
		payload_off: text,
	}),
	sensor: platform(
		"sensor.py",
		readable,
		{
			...readOnly,
			// components/sensor/const.py, SensorDeviceClass: those for which DEVICE_CLASS_UNITS are below.
			device_class: oneOf("signal_strength", "data_size"),
			// components/sensor/const.py, SensorStateClass
			state_class: oneOf("measurement", "total", "total_increasing"),
			unit_of_measurement: text,
		},
		// util.py, validate_sensor_state_and_device_class_config; components/sensor/const.py, DEVICE_CLASS_UNITS
		({ device_class: deviceClass, unit_of_measurement: unit }) => {
			if (deviceClass === "signal_strength") return unit === "dB" || unit === "dBm";
			if (deviceClass === "data_size") return /^([kMGTPEZY]?B|[KMGTPEZY]iB|[kMG]?bit)$/.test(String(unit));
			return true;
		},
	),
	update: platform("update.py", readable, {
		...readOnly,
		command_topic: topic,
		// components/update/__init__.py, UpdateDeviceClass
		device_class: oneOf("firmware"),
		payload_install: text,
	}),
};

/** schemas.py, MQTT_ENTITY_DEVICE_INFO_SCHEMA: an unknown option rejects the device. */
const deviceOptions: Options = {
	identifiers: texts,
	connections: (value) =>
		Array.isArray(value) && value.every((connection) => texts(connection) && connection.length === 2),
	manufacturer: text,
	model: text,
	name: text,
	hw_version: text,
	serial_number: text,
	sw_version: text,
	via_device: text,
	suggested_area: text,
	configuration_url: configurationUrl,
};

/** schemas.py, MQTT_ORIGIN_INFO_SCHEMA. */
const originOptions: Options = { name: text, sw_version: text, support_url: configurationUrl };

/** schemas.py, MQTT_AVAILABILITY_LIST_SCHEMA. */
const availabilityOptions: Options = { topic };

/** schemas.py, DEVICE_DISCOVERY_SCHEMA: an unknown option rejects the device. */
const messageOptions: Options = {
	device: isObject,
	origin: isObject,
	components: isObject,
	availability: Array.isArray,
	availability_mode: oneOf("all", "any", "latest"),
};

export type Component = Readonly<Record<string, unknown>>;

export interface Discovery {
	readonly device: Component;
	readonly origin: Component;
	readonly availability: readonly { readonly topic: string }[];
	readonly components: Readonly<Record<string, Component>>;
	/** Platforms of removed entities by component key. */
	readonly removed: Readonly<Record<string, unknown>>;
}

function isObject(value: unknown): boolean {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @returns the message and the removed entities. @throws if Home Assistant would reject or ignore a part */
export function checkDiscovery(topicName: string, content: string): Discovery {
	// discovery.py, TOPIC_MATCHER
	assert.match(topicName, /^homeassistant\/device\/([a-zA-Z0-9_-]+\/)?[a-zA-Z0-9_-]+\/config$/);
	const message = JSON.parse(content);
	checkOptions("message", messageOptions, ["device", "origin", "components"], message);
	checkOptions("device", deviceOptions, ["identifiers"], message.device);
	checkOptions("origin", originOptions, ["name"], message.origin);
	for (const availability of message.availability ?? [])
		checkOptions("availability", availabilityOptions, ["topic"], availability);
	const components: Record<string, Component> = {};
	const removed: Record<string, unknown> = {};
	const ids = new Set<unknown>();
	for (const [key, component] of Object.entries<Component>(message.components)) {
		const known = platforms[String(component.platform)];
		assert.ok(known, `${key}: no such platform`);
		if (Object.keys(component).length === 1) {
			removed[key] = component.platform;
			continue;
		}
		// schemas.py, check_unique_id
		const required = [...known.required, "unique_id"];
		checkOptions(key, { ...common, ...known.options }, required, component);
		assert.ok(known.isSound(component), `${key}: see ${known.source}`);
		assert.ok(!ids.has(component.unique_id), `${key}: not unique`);
		ids.add(component.unique_id);
		components[key] = component;
	}
	return { availability: [], ...message, components, removed };
}

function checkOptions(what: string, checks: Options, required: readonly string[], values: object): void {
	for (const [name, value] of Object.entries(values)) {
		assert.ok(Object.hasOwn(checks, name), `${what}: ${name} is unknown`);
		assert.ok(checks[name]?.(value), `${what}: ${name}: ${JSON.stringify(value)}`);
	}
	for (const name of required) assert.ok(Object.hasOwn(values, name), `${what}: no ${name}`);
}

/** Renders a template for a payload. */
export function render(value: unknown, payload: string): string {
	const [, name = "", toJson] = templatePattern.exec(String(value)) ?? [];
	// helpers/template.py, async_render_with_possible_json_value, logs an error for each entity.
	assert.notEqual(payload, "", `value_json is undefined for ${value}`);
	const fields: Record<string, unknown> = JSON.parse(payload);
	assert.ok(Object.hasOwn(fields, name), `there is no ${name} for ${value}`);
	return toJson ? JSON.stringify(fields[name]) : String(fields[name] ?? "None");
}

/** update.py, MQTT_JSON_UPDATE_SCHEMA: an unknown field rejects the whole state. */
const updateFields: Options = {
	installed_version: text,
	latest_version: text,
	release_summary: text,
	in_progress: flag,
	update_percentage: (value) =>
		value === null || (number(value) && Number(value) >= 0 && Number(value) <= 100),
};

/** Options ending with `_topic` that an entity subscribes to. */
export const readings = ["state", "brightness_state", "rgb_state", "effect_state"] as const;
export type Reading = (typeof readings)[number];

/** Checks a rendered payload. @throws if an entity would reject it */
export function checkReading(config: Component, reading: Reading, value: string): void {
	const { brightness_scale: scale, effect_list: effects } = config;
	const checks = {
		state: () => stateChecks[String(config.platform)]?.(config, value) === true,
		brightness_state: () => Number(value) >= 0 && Number(value) <= Number(scale),
		rgb_state: () => /^(\d{1,3}(,|$)){3}$/.test(value) && Math.max(...value.split(",").map(Number)) <= 255,
		effect_state: () => isIn(effects, value),
	};
	assert.ok(checks[reading](), `${config.unique_id}: ${reading}: ${value}`);
}

const isIn = (values: unknown, value: unknown) => Array.isArray(values) && values.includes(value);
const isBetween = (value: number, { min, max }: Component) => value >= Number(min) && value <= Number(max);
const isOnOrOff = (_config: Component, state: string) => /^(ON|OFF)$/.test(state);

const stateChecks: Readonly<Record<string, (config: Component, state: string) => boolean>> = {
	// mqtt/number.py: the default of payload_reset.
	number: (config, state) => state === "None" || isBetween(Number(state), config),
	// components/text/__init__.py: a mismatch is an error.
	text: (config, state) =>
		new RegExp(`^(?:${config.pattern})$`).test(state) && isBetween(state.length, config),
	binary_sensor: ({ payload_on: on = "ON", payload_off: off = "OFF" }, state) =>
		state === on || state === off,
	light: isOnOrOff,
	siren: isOnOrOff,
	switch: isOnOrOff,
	event: ({ event_types: types }, state) => isIn(types, JSON.parse(state).event_type),
	// components/sensor/__init__.py: a number if it has a state class; const.py: at most 255 characters.
	sensor: ({ state_class: kind }, state) =>
		(kind === undefined || Number.isFinite(Number(state))) && state.length <= 255,
	update: (_config, state) => {
		const fields = JSON.parse(state);
		checkOptions(state, updateFields, ["installed_version", "latest_version"], fields);
		// components/update/__init__.py: a summary has at most 255 characters.
		return fields.release_summary.length <= 255;
	},
};
