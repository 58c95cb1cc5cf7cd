/**
 * The entities that a device has in Home Assistant, each once: its platform and options, its state, and what a command to it
 * asks of the device. The options are those of homeassistant/components/mqtt/<platform>.py.
 */

import { chimes, commands, crashKinds, type StateReport } from "../../device/protocol/messages.js";
import { hasPart } from "../../device/protocol/models.js";
import { integer, isRecord, matches } from "../../device/protocol/schema.js";
import { longestSeconds } from "../api/announcement.js";
import { isActiveUpdate } from "../api/statuses.js";
import type { Release } from "../firmware/catalog.js";
import { parseJson } from "../json.js";
import type { Device } from "../sessions/device.js";

/** What entities are made of. */
export interface Facts {
	readonly device: Device;
	/** The latest; undefined: none is known. */
	readonly report: StateReport | undefined;
	/** That the gateway would install; undefined: none. */
	readonly release: Release | undefined;
	/** Ids of kept sounds by their names in Home Assistant. */
	readonly tones: ReadonlyMap<string, string>;
	readonly canSpeak: boolean;
	/** Of the ring, when it was last above 0. */
	readonly litBrightness: number;
}

/** As the announcer takes it, without the device. */
interface Playing {
	readonly sound?: string;
	readonly text?: string;
	readonly volume?: number;
}

/** What a command asks for: a device's command, an update, a sound, or a sentence that refuses it. */
export type Ask =
	| { readonly control: Readonly<Record<string, unknown>> }
	| { readonly version: string }
	| { readonly play: Playing; readonly seconds?: number }
	| { readonly refusal: string };

export interface Entity {
	readonly platform: string;
	readonly options: Readonly<Record<string, unknown>>;
	/** Of this device. */
	readonly more?: (facts: Facts) => Readonly<Record<string, unknown>>;
	/** Absent: all devices have it. */
	readonly isOffered?: (facts: Facts) => boolean;
	/** Absent: it has none, or is an event. */
	readonly state?: (report: StateReport, facts: Facts) => string;
	readonly command?: (text: string, facts: Facts) => readonly Ask[];
}

const effects = commands.set_led.fields.value;
const byte = integer(0, 255);
export const buttons = ["btn_play", "btn_mute", "btn_vol_up", "btn_vol_down"] as const;
const diagnostic = { entity_category: "diagnostic" };
const measurement = { state_class: "measurement" };
const percent = { min: 0, max: 100, step: 1, unit_of_measurement: "%" };
/** More is an error of Home Assistant. */
const summaryCharacters = 255;
const seconds = integer(1, longestSeconds);

export const entities: Readonly<Record<string, Entity>> = {
	volume: {
		platform: "number",
		options: { name: "Volume", icon: "mdi:volume-high", ...percent },
		state: ({ peripherals }) => String(peripherals.audio.volume),
		command: (text) => [control("set_volume", numberOf(text))],
	},
	brightness: {
		platform: "number",
		options: { name: "Brightness", icon: "mdi:brightness-6", ...percent },
		state: ({ peripherals }) => String(Math.round(peripherals.led_ring.brightness_coef * 100)),
		command: (text) => [control("set_brightness", numberOf(text) / 100)],
	},
	ring: {
		platform: "light",
		options: {
			name: "Ring",
			schema: "json",
			brightness: true,
			effect: true,
			effect_list: effects.values,
			flash: false,
			transition: false,
		},
		state: ({ peripherals: { led_ring: ring } }) => {
			const brightness = Math.ceil(ring.brightness_coef * 255);
			return JSON.stringify({ state: brightness > 0 ? "ON" : "OFF", brightness, effect: ring.state_name });
		},
		command: commandRing,
	},
	siren: {
		platform: "siren",
		options: { name: "Sounds", icon: "mdi:speaker", support_duration: true, support_volume_set: true },
		more: ({ tones }) => ({ available_tones: [...chimes, ...tones.keys()] }),
		state: ({ peripherals }) => (peripherals.audio.player_state === "playing" ? "ON" : "OFF"),
		command: commandSiren,
	},
	speech: {
		platform: "notify",
		options: { name: "Speech", icon: "mdi:account-voice" },
		isOffered: (facts) => facts.canSpeak && hasFeature(facts, "sound"),
		command: (text) => [{ play: { text } }],
	},
	identify: {
		platform: "button",
		options: { name: "Identify", device_class: "identify", ...diagnostic },
		isOffered: (facts) => hasFeature(facts, "identify"),
		command: (text) => [press(text, "identify")],
	},
	restart: {
		platform: "button",
		options: { name: "Restart", device_class: "restart", entity_category: "config" },
		isOffered: (facts) => hasFeature(facts, "restart"),
		command: (text) => [press(text, "restart")],
	},
	haptics: {
		platform: "number",
		options: { name: "Haptics", icon: "mdi:vibrate", ...percent },
		isOffered: ({ device: { model } }) => model !== undefined && hasPart(model, "haptics"),
		state: ({ peripherals }) => String(peripherals.haptic_intensity ?? ""),
		command: (text) => [control("set_haptics", numberOf(text))],
	},
	btn_play: button("Play button"),
	btn_mute: button("Mute button"),
	btn_vol_up: button("Volume up button"),
	btn_vol_down: button("Volume down button"),
	touch: {
		platform: "binary_sensor",
		options: { name: "Touch", icon: "mdi:gesture-tap" },
		isOffered: ({ device: { model } }) => model !== undefined && hasPart(model, "touch"),
		state: ({ peripherals }) => (peripherals.touch_active ? "ON" : "OFF"),
	},
	light: {
		platform: "sensor",
		options: { name: "Light", icon: "mdi:brightness-5", ...measurement },
		isOffered: ({ device: { model } }) => model !== undefined && hasPart(model, "ambientLight"),
		state: ({ peripherals }) => String(peripherals.ambient_light ?? ""),
	},
	signal: {
		platform: "sensor",
		options: {
			name: "Signal",
			device_class: "signal_strength",
			unit_of_measurement: "dBm",
			...measurement,
			...diagnostic,
		},
		// In steps of 5 dB, as in the summary: otherwise each report would change it.
		state: ({ network }, { device }) => String(device.vitals.rssi ?? network.wifi_rssi),
	},
	memory: {
		platform: "sensor",
		options: {
			name: "Free memory",
			device_class: "data_size",
			unit_of_measurement: "KiB",
			...measurement,
			...diagnostic,
		},
		state: ({ health }) => String(Math.round(health.free_heap_bytes / 1024)),
	},
	reset_reason: {
		platform: "sensor",
		options: { name: "Reset reason", icon: "mdi:restart-alert", ...diagnostic },
		state: ({ health }) => health.reset_reason,
	},
	crash: {
		platform: "event",
		options: { name: "Crash", icon: "mdi:alert-octagon", event_types: crashKinds, ...diagnostic },
	},
	firmware: {
		platform: "update",
		options: { name: "Firmware", device_class: "firmware", payload_install: "install" },
		state: ({ system }, { device, release }) => {
			const { otaStatus, otaPercent } = device.metadata;
			const installed = system.firmware_version;
			return JSON.stringify({
				installed_version: installed,
				latest_version: release?.version ?? installed,
				release_summary: [...(release?.notes ?? "")].slice(0, summaryCharacters).join(""),
				in_progress: isActiveUpdate(otaStatus),
				update_percentage: otaStatus === "downloading" ? otaPercent : null,
			});
		},
		command: (text, { release }) => {
			if (text !== "install") return [{ refusal: 'the payload must be "install"' }];
			return [release ? { version: release.version } : { refusal: "there is no release for this device" }];
		},
	},
};

function button(name: string): Entity {
	return { platform: "event", options: { name, device_class: "button", event_types: ["press"] } };
}

function hasFeature({ device }: Facts, feature: string): boolean {
	return device.session.handshake.features.some((each) => each === feature);
}

function control(command: string, value?: unknown): Ask {
	return { control: { command, ...(value !== undefined && { value }) } };
}

function press(text: string, command: string): Ask {
	return text === "PRESS" ? control(command) : { refusal: 'the payload must be "PRESS"' };
}

/** @returns NaN, which every check refuses, if it is no number */
function numberOf(text: string): number {
	return text.trim() === "" ? Number.NaN : Number(text);
}

/** Off is the brightness 0, as the ring has no other. */
function commandRing(text: string, { report, litBrightness }: Facts): readonly Ask[] {
	const asked = parseJson(text);
	if (!isRecord(asked) || (asked.state !== "ON" && asked.state !== "OFF"))
		return [{ refusal: 'the payload must be JSON with "state": "ON" or "OFF"' }];
	if (asked.state === "OFF") return [control("set_brightness", 0)];
	const { effect, brightness } = asked;
	// Checked here: nothing is done if one of them is wrong.
	if (effect !== undefined && !matches(effects, effect))
		return [{ refusal: `effect must be one of ${effects.values.join(", ")}` }];
	if (brightness !== undefined && !matches(byte, brightness))
		return [{ refusal: "brightness must be a whole number from 0 to 255" }];
	const isDark = report?.peripherals.led_ring.brightness_coef === 0;
	const level = brightness === undefined ? litBrightness : brightness / 255;
	return [
		...(effect === undefined ? [] : [control("set_led", effect)]),
		...(brightness !== undefined || isDark ? [control("set_brightness", level)] : []),
	];
}

function commandSiren(text: string, { tones }: Facts): readonly Ask[] {
	const asked = parseJson(text);
	if (!isRecord(asked) || (asked.state !== "ON" && asked.state !== "OFF"))
		return [{ refusal: 'the payload must be JSON with "state": "ON" or "OFF"' }];
	if (asked.state === "OFF") return [control("stop_sound")];
	const { tone = chimes[0], volume_level: level, duration } = asked;
	const sound = tones.get(String(tone));
	if (sound === undefined && level !== undefined)
		return [{ refusal: "a chime plays at the device's volume; leave volume_level out" }];
	if (sound === undefined) return [control("play_audio", tone)];
	const play = { sound, ...(level !== undefined && { volume: Math.round(Number(level) * 100) }) };
	if (duration === undefined) return [{ play }];
	if (!matches(seconds, duration)) return [{ refusal: "duration must be a whole number of seconds" }];
	return [{ play, seconds: duration }];
}
