/**
 * Home Assistant entities of a device, and the state that their templates read. Options are documented in
 * homeassistant/components/mqtt/<platform>.py, for `light` in light/schema_basic.py.
 */

import {
	chimes,
	commands,
	crashKinds,
	type Feature,
	featureFor,
	lightEffects,
	type StateReport,
} from "../../device/protocol/messages.js";
import { type BoardPart, hasPart } from "../../device/protocol/models.js";
import { playStates } from "../api/announcement.js";
import { isNewer } from "../api/channels.js";
import { usualQuietHours } from "../api/client/times.js";
import { commandEntries, type SliderName, sliderOf } from "../api/commands.js";
import type { Release } from "../api/firmware.js";
import { isActiveUpdate } from "../api/statuses.js";
import { timeOfDay } from "../api/times.js";
import type { QuietHoursService } from "../services/quiet-hours.js";
import type { Device } from "../sessions/device.js";

/** Data from which entities are created. */
export interface Facts {
	readonly device: Device;
	/** Release that the gateway would install; undefined: none. */
	readonly release: Release | undefined;
	/** Ids of stored sounds by name in Home Assistant. */
	readonly tones: ReadonlyMap<string, string>;
	readonly canSpeak: boolean;
	/** Undefined without quiet hours on this gateway. */
	readonly quietHours: QuietHoursService | undefined;
}

interface Entity {
	readonly platform: string;
	/** Board part required for the entity. */
	readonly part?: BoardPart;
	readonly feature?: Feature | null;
	readonly [option: string]: unknown;
}

export const buttons = ["btn_play", "btn_mute", "btn_vol_up", "btn_vol_down"] as const;
export const product = "device-gateway";
/** Limit of Home Assistant. */
const summaryCharacters = 255;

const percent = { platform: "number", min: 0, max: 100, step: 1, unit_of_measurement: "%" };
const press = { platform: "event", device_class: "button", event_types: ["press_start"] };
const notify = { platform: "notify", feature: "sound" } as const;
const diagnostic = { entity_category: "diagnostic" };
const config = { entity_category: "config" };
const quiet = { feature: "quiet", ...config } as const;
const time = { platform: "text", min: 5, max: 5, pattern: timeOfDay.pattern };
const disabled = { enabled_by_default: false };
const measurement = { platform: "sensor", state_class: "measurement" };
const decibel = { device_class: "signal_strength", unit_of_measurement: "dBm", ...diagnostic };
const kibibyte = { device_class: "data_size", unit_of_measurement: "KiB", ...diagnostic };
const presets = commands.set_led.fields.value.values;
/** Shows the device's state on the ring again (light/const.py, EFFECT_OFF). */
export const noEffect = "off";
/** Color of a light without color. */
const white = "#ffffff";

/** Sliders of the page that are number entities, by entity. */
const sliders: Readonly<
	Record<
		string,
		{ readonly command: SliderName; readonly icon: string; readonly unit_of_measurement: string }
	>
> = {
	haptics: { command: "set_haptics", icon: "mdi:vibrate", unit_of_measurement: "%" },
};

/** Returns a value for each slider, by entity. */
export function mapSliders<T>(convert: (slider: (typeof sliders)[string]) => T): Readonly<Record<string, T>> {
	return Object.fromEntries(Object.entries(sliders).map(([key, slider]) => [key, convert(slider)]));
}

function numberOf(command: SliderName, options: object): Entity {
	const {
		label,
		range: [min, max],
	} = sliderOf(command);
	const { feature, part }: { readonly feature: Feature | null; readonly part?: BoardPart } =
		commands[command];
	return { name: label, platform: "number", min, max, step: 1, feature, ...(part && { part }), ...options };
}

const entities: Readonly<Record<string, Entity>> = {
	volume: { name: "Volume", icon: "mdi:volume-high", ...percent },
	mute: { name: "Mute", icon: "mdi:volume-off", platform: "switch", feature: "mute" },
	// Home Assistant sends the latest brightness instead of "ON".
	ring: {
		name: "Ring",
		platform: "light",
		on_command_type: "brightness",
		brightness_scale: 100,
	},
	siren: { name: "Sounds", icon: "mdi:speaker", platform: "siren" },
	speech: { name: "Speak", icon: "mdi:account-voice", ...notify },
	// Disabled by default, otherwise a message to an area would be spoken twice.
	urgent_speech: { name: "Speak urgently", icon: "mdi:bullhorn", ...notify, ...disabled },
	announcement: {
		name: "Announcement",
		icon: "mdi:bullhorn-outline",
		platform: "event",
		event_types: playStates,
		feature: "sound",
	},
	identify: {
		name: "Identify",
		device_class: "identify",
		platform: "button",
		feature: "identify",
		...diagnostic,
	},
	restart: { name: "Restart", device_class: "restart", platform: "button", feature: "restart", ...config },
	progress: { name: "Ring progress", icon: "mdi:progress-clock", feature: "light", ...percent, ...disabled },
	auto_brightness: {
		name: "Brightness by the room",
		icon: "mdi:brightness-auto",
		platform: "switch",
		part: "ambientLight",
		feature: "light",
		...config,
	},
	quiet: { name: "Quiet hours", icon: "mdi:weather-night", platform: "switch", ...quiet },
	quiet_from: { name: "Quiet from", icon: "mdi:clock-start", ...time, ...quiet },
	quiet_until: { name: "Quiet until", icon: "mdi:clock-end", ...time, ...quiet },
	...mapSliders(({ command, ...options }) => numberOf(command, options)),
	btn_play: { name: "Play button", ...press },
	btn_mute: { name: "Mute button", ...press },
	btn_vol_up: { name: "Volume up button", ...press },
	btn_vol_down: { name: "Volume down button", ...press },
	touch: { name: "Touch", icon: "mdi:gesture-tap", platform: "binary_sensor", part: "touch" },
	light: { name: "Ambient light", icon: "mdi:brightness-5", part: "ambientLight", ...measurement },
	signal: { name: "Signal", ...measurement, ...decibel },
	memory: { name: "Free memory", ...measurement, ...kibibyte, ...disabled },
	reset_reason: {
		name: "Reset reason",
		icon: "mdi:restart-alert",
		platform: "sensor",
		...diagnostic,
		...disabled,
	},
	crash: {
		name: "Crash",
		icon: "mdi:alert-octagon",
		platform: "event",
		event_types: crashKinds,
		...diagnostic,
	},
	firmware: { name: "Firmware", device_class: "firmware", platform: "update", payload_install: "install" },
};

/**
 * @param base base topic of the gateway
 * @returns discovery components by key
 */
export function componentsOf(facts: Facts, base: string): Readonly<Record<string, object>> {
	const components: Record<string, object> = {};
	for (const [key, entity] of Object.entries(entities))
		components[key] = componentOf(key, entity, facts, base);
	return components;
}

/** Returns the component of an entity, or only its platform to remove it. */
function componentOf(key: string, entity: Entity, facts: Facts, base: string): object {
	const { device, tones, canSpeak, quietHours } = facts;
	const { platform, part, feature, ...options } = entity;
	const { deviceId, model, session } = device;
	const hasIt = part === undefined || (model !== undefined && hasPart(model, part));
	const knowsIt = !feature || session.handshake.features.includes(feature);
	const isKept = (platform !== "notify" || canSpeak) && (feature !== "quiet" || quietHours !== undefined);
	if (!hasIt || !knowsIt || !isKept) return { platform };
	const state_topic = `${base}/${deviceId}/${platform === "event" ? key : "state"}`;
	const command_topic = `${base}/${deviceId}/${key}/set`;
	const value_template = `{{ value_json.${key} }}`;
	const common = { platform, unique_id: `${product}-${deviceId}-${key}`, qos: 1, ...options };
	switch (platform) {
		case "number":
		case "switch":
		case "text":
			return { ...common, state_topic, value_template, command_topic };
		case "light":
			return {
				...common,
				state_topic,
				state_value_template: value_template,
				command_topic,
				brightness_state_topic: state_topic,
				brightness_value_template: "{{ value_json.brightness }}",
				brightness_command_topic: `${base}/${deviceId}/brightness/set`,
				effect_state_topic: state_topic,
				effect_value_template: "{{ value_json.effect }}",
				effect_command_topic: `${base}/${deviceId}/effect/set`,
				...(session.handshake.features.includes("light")
					? {
							effect_list: [noEffect, ...presets, ...lightEffects],
							rgb_state_topic: state_topic,
							rgb_value_template: "{{ value_json.color }}",
							rgb_command_topic: `${base}/${deviceId}/color/set`,
						}
					: { effect_list: presets }),
			};
		case "siren": {
			const known = chimes.filter((value) => {
				const needed = featureFor({ command: "play_audio", value });
				return needed === undefined || session.handshake.features.includes(needed);
			});
			const available_tones = [...new Set([...known, ...tones.keys()])];
			return { ...common, available_tones, state_topic, state_value_template: value_template, command_topic };
		}
		case "update":
			return { ...common, state_topic, value_template: "{{ value_json.firmware | to_json }}", command_topic };
		case "event":
			return { ...common, state_topic };
		case "notify":
		case "button":
			return { ...common, command_topic };
		default:
			return { ...common, state_topic, value_template };
	}
}

/**
 * Rounds to whole percent, at least 1 unless 0.
 * @param percent from a command or a report
 */
export function wholeBrightness(percent: number): number {
	return percent > 0 ? Math.max(1, Math.round(percent)) : percent;
}

/**
 * Returns the state that templates read.
 * @param lastBrightness latest one above 0 in percent, shown while the light is off. Home Assistant uses it
 * to turn the light on, but forgets it at a restart.
 */
export function stateOf(report: StateReport, { device, release, quietHours }: Facts, lastBrightness: number) {
	const { peripherals, health, network, system } = report;
	const { audio, led_ring: ring } = peripherals;
	const { vitals, metadata } = device;
	const { firmware_version: installed_version } = system;
	const { on: isQuiet, from, until } = { on: false, ...usualQuietHours, ...quietHours?.of(device) };
	const onOrOff = (isOn: boolean | undefined) => (isOn ? "ON" : "OFF");
	return {
		volume: audio.volume,
		mute: onOrOff(audio.muted),
		brightness: wholeBrightness(ring.brightness_coef * 100) || lastBrightness,
		ring: onOrOff(ring.brightness_coef > 0),
		effect: ring.light?.effect ?? ring.state_name,
		color: channelsOf(ring.light?.color ?? white),
		progress: Math.round((ring.light?.progress ?? 0) * 100),
		auto_brightness: onOrOff(ring.auto_brightness),
		quiet: onOrOff(isQuiet),
		quiet_from: from,
		quiet_until: until,
		siren: onOrOff(audio.player_state === "playing"),
		// Null, which Home Assistant shows as unknown, in safe mode or for a model without the part.
		...mapSliders(({ command }) => commandEntries[command].reported?.(report) ?? null),
		touch: onOrOff(peripherals.touch_active),
		light: peripherals.ambient_light,
		// In steps of 5 dB like the summary, otherwise each report would change it.
		signal: vitals.rssi ?? network.wifi_rssi,
		memory: Math.round(health.free_heap_bytes / 1024),
		reset_reason: health.reset_reason,
		firmware: {
			installed_version,
			latest_version:
				release && isNewer(release.version, installed_version) ? release.version : installed_version,
			release_summary: [...(release?.notes ?? "")].slice(0, summaryCharacters).join(""),
			in_progress: isActiveUpdate(metadata.otaStatus),
			update_percentage: metadata.otaStatus === "downloading" ? metadata.otaPercent : null,
		},
	};
}

/**
 * @param color `#rrggbb`
 * @returns Home Assistant's format: "255,136,0"
 */
function channelsOf(color: string): string {
	return [...Buffer.from(color.slice(1), "hex")].join(",");
}
