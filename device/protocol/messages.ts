/** Schemas of all messages between device and gateway, each defined once for both ends. */

import { boardChips, hasPart, modelsWith } from "./models.js";
import {
	boolean,
	type Complete,
	changeOf,
	describeProblem,
	either,
	findProblem,
	float,
	type Infer,
	integer,
	isRecord,
	keysOf,
	list,
	type Model,
	matches,
	models,
	nothing,
	type ObjectSchema,
	object,
	oneOf,
	optional,
	pattern,
	type Schema,
	string,
	withPart,
} from "./schema.js";

const uint32 = integer(0, 4_294_967_295);
const percent = integer(0, 100);
const timestamp = pattern(
	30,
	"^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,9})?Z$",
	"an ISO 8601 UTC timestamp",
);
const macAddress = pattern(17, "^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$", "a MAC address");

/** Safe in a file name, a URL and a log line. */
export const deviceId = pattern(64, "^[A-Za-z0-9][A-Za-z0-9._-]*$", "letters, digits, '.', '_' or '-'");
export const chips = Object.freeze([...boardChips, "esp32s3-qemu", "virtual"] as const);
export type Chip = (typeof chips)[number];

/** Value of `set_led` and `led_ring.state_name`. */
const ledPreset = oneOf("rainbow", "connecting", "failed", "idle", "updating");
export type LedPreset = Infer<typeof ledPreset>;

export const lightEffects = Object.freeze(["solid", "breathe", "blink", "turn", "progress"] as const);
const lightEffect = oneOf(...lightEffects);
export type LightEffect = Infer<typeof lightEffect>;
const hexColor = pattern(7, "^#[0-9A-Fa-f]{6}$", "a color such as #ff8800,");

export const chimes = Object.freeze(["startup", "wifi_connecting", "wifi_connected", "attention"] as const);
const chime = oneOf(...chimes);
export type Chime = Infer<typeof chime>;

/** Priorities of queued sounds, the highest first. */
export const priorities = Object.freeze(["urgent", "normal", "low"] as const);
export const priority = oneOf(...priorities);
export type Priority = Infer<typeof priority>;

/** Limits that apply while the clock is in one of the periods. */
export const quietHours = object({
	/** Identifies the quiet hours in state reports. */
	id: pattern(16, "^[A-Za-z0-9]+$", "letters or digits"),
	/** In Unix seconds. */
	periods: list(object({ from: uint32, until: uint32 }), 16, 1),
	/** Maximum volume; urgent sounds are exempt. */
	volume: optional(percent),
	/** Maximum brightness of the ring. */
	brightness: optional(float(0, 1)),
	/** Whether only urgent sounds are played, and no chimes. */
	only_urgent: optional(boolean()),
});
export type QuietHours = Infer<typeof quietHours>;

/** Identifies a sound in commands, uplinks and `audio.current_track`. */
const soundId = pattern(64, "^[A-Za-z0-9][A-Za-z0-9._-]*$", "letters, digits, '.', '_' or '-'");

/** Content of the uplink `sound_update`. */
export const soundUpdate = object({
	id: soundId,
	/** `waiting`, `resumed` and `expired` occur only for sounds with a priority. */
	state: oneOf("waiting", "ready", "playing", "resumed", "played", "stopped", "failed", "expired"),
	/** For `failed` a sentence; for `stopped` one of button, chime, another sound, update, restart, command, quiet hours. */
	reason: optional(string(512)),
	/** At the end: number of gaps caused by late samples. */
	underruns: optional(uint32),
	/** At the end: duration of the sound that was heard. */
	heard_ms: optional(uint32),
});

const playerState = oneOf("idle", "playing", "paused", "stopped");
export type PlayerState = Infer<typeof playerState>;

export const crashKinds = Object.freeze([
	"exception",
	"rejection",
	"out_of_memory",
	"watchdog",
	"panic",
	"brown_out",
	"unknown",
] as const);
export type CrashKind = (typeof crashKinds)[number];

/** Any end of the firmware other than System.restart(). */
export const crash = object({
	/** Distinguishes a crash from the next one of its kind. */
	id: pattern(32, "^[0-9a-f]+$", "hexadecimal digits"),
	kind: oneOf(...crashKinds),
	message: string(512),
	/** Source file relative to the project, if known. */
	file: optional(string(128)),
	line: optional(integer(1, 1_000_000)),
	/** Lines of `at function (file:line)` or program counters, innermost first; may be empty. */
	stack: string(1024),
	/** Version of the crashed firmware; empty if unknown. */
	firmware_version: string(32),
	uptime_seconds: uint32,
	/** Last lines of trace output. */
	trace: string(2048),
});
export type Crash = Infer<typeof crash>;

/** Maximum duration of a live log. */
export const maxLogSeconds = 600;

/** Room for a certificate of 3 KB in DER. */
const certificateInPem = string(4352);

/** ECDSA signature of 64 bytes in the catalog, an upload and `start_ota`. */
export const signature = pattern(88, "^[A-Za-z0-9+/]{85}[AQgw]==$", "a signature of 64 bytes in base64,");

/** First digits of ESP-IDF's `app_elf_sha256`, which distinguish images of the same version. */
export const imageId = pattern(16, "^[0-9a-f]{16}$", "16 hexadecimal digits");

export const sha256 = pattern(64, "^[0-9a-f]{64}$", "a SHA-256 in hex");

const password = pattern(63, "^([ -~]{8,63})?$", "empty, or a WPA password of 8 or more characters,");

/** Settings to change. An empty string removes an optional setting. */
const changedSettings = changeOf({
	// In XS 13.3, a class [^…] that begins at \x00 excludes nothing.
	ssid: optional(pattern(32, "^((?!\\x00)[^\\x01-\\x1f])+$", "the name of a Wi-Fi network")),
	password: optional(password),
	/** Second network; the two are tried in turns. */
	ssid2: optional(pattern(32, "^((?!\\x00)[^\\x01-\\x1f])*$", "empty, or the name of a Wi-Fi network,")),
	password2: optional(password),
	gateway: optional(
		pattern(256, "^wss?://[A-Za-z0-9.-]+(:\\d{1,5})?(/[!-~]*)?$", "an address like ws://host:port/device"),
	),
	token: optional(pattern(256, "^[!-~]+$", "a token without spaces")),
	ca: optional(certificateInPem),
	sntp: optional(pattern(253, "^[A-Za-z0-9.-]*$", "empty, or the name of a time server,")),
});
export type ChangedSettings = Infer<typeof changedSettings>;
/** Settings given at the installation, by set_settings or on a command line. */
export type InstalledSetting = keyof ChangedSettings;
export const installedSettings = Object.freeze(keysOf(changedSettings.fields));

/** Capabilities added after the first version, announced by devices in `Device-Features`. */
export const features = Object.freeze([
	"identify",
	"settings",
	"crash",
	"log",
	"restart",
	"sound",
	"light",
	"queue",
	"chime",
	"quiet",
	"delta",
	"cancel",
	"mute",
] as const);
export type Feature = (typeof features)[number];

/** @param feature required of a device for the command to be sent; null: every firmware supports it */
function command<
	const N extends string,
	const T extends Feature | null,
	const F extends ObjectSchema["fields"],
>(name: N, feature: T, fields: F) {
	return Object.freeze({ ...object({ command: oneOf(name), ...fields }), feature });
}

/** Marks a command whose value survives a restart and is copied to a replacement device. @param keys of the value in flash */
function persisting<const K extends readonly string[], C extends Schema>(keys: K, command: C) {
	Object.freeze(keys);
	const persistent: C & { readonly keeps: K } = { ...command, keeps: keys };
	return Object.freeze(persistent);
}

/** Messages from gateway to device, keyed by `command`. */
export const commands = Object.freeze({
	set_volume: persisting(["volume", "audible"], command("set_volume", null, { value: percent })),
	/** Mutes, or restores the last volume above 0. `set_volume` mutes with 0, and unmutes with any other value. */
	set_mute: persisting(["volume", "audible"], command("set_mute", "mute", { value: boolean() })),
	query_state: command("query_state", null, {}),
	set_led: command("set_led", null, { value: ledPreset }),
	play_audio: command("play_audio", null, { value: chime }),
	play_sound: command("play_sound", "sound", {
		value: object({
			id: soundId,
			/** http or https address of a WAV: PCM, 16 bit, mono, 16 kHz. The device reports `failed` if it cannot load it. */
			url: string(2048),
			/** Volume during the sound. */
			volume: optional(percent),
			/** Whether the sound waits for start_sound, at most 10 s. */
			ready: optional(boolean()),
			/** Present: the sound is queued; an urgent one interrupts others. Absent: it replaces all others. */
			priority: optional(priority),
			/** Seconds within which the sound must begin. */
			expires: optional(integer(1, 86_400)),
			/** Played before the sound, followed by 0.3 s of silence. */
			chime: optional(chime),
			/** Absent: the volume of the sound. */
			chime_volume: optional(percent),
		}),
	}),
	start_sound: command("start_sound", "sound", { value: object({ id: soundId }) }),
	/** Without `id`, all sounds are stopped. */
	stop_sound: command("stop_sound", "sound", { value: optional(object({ id: optional(soundId) })) }),
	identify: command("identify", "identify", {}),
	restart: command("restart", "restart", {}),
	set_brightness: persisting(["brightness"], command("set_brightness", null, { value: float(0, 1) })),
	/** Covers the ring's state until `null` or no value, set_led, the end of `seconds`, or a restart. */
	set_light: command("set_light", "light", {
		value: optional(
			either(
				nothing,
				object({
					color: either(hexColor, list(integer(0, 255), 3, 3)),
					/** Absent: solid. */
					effect: optional(lightEffect),
					/** Used by the effect `progress`; absent: 0. */
					progress: optional(float(0, 1)),
					/** 0 or absent: unlimited. */
					seconds: optional(integer(0, 86_400)),
				}),
			),
		),
	}),
	/** Replaces the quiet hours; `null` removes them. */
	set_quiet: persisting(["quiet"], command("set_quiet", "quiet", { value: either(nothing, quietHours) })),
	/** Whether the ring is dimmed in a dark room, below `set_brightness`. */
	set_auto_brightness: persisting(
		["auto_bright"],
		withPart("ambientLight", command("set_auto_brightness", "light", { value: boolean() })),
	),
	set_haptics: withPart("haptics", command("set_haptics", null, { value: percent })),
	start_ota: command("start_ota", null, {
		url: pattern(2048, "^https?://[^\\s/]\\S*?$", "an http or https address"),
		cert_pem: optional(certificateInPem),
		/**
		 * ECDSA P-256 signature of the image's SHA-256: r and s, 32 bytes each, big-endian (IEEE P1363). The image's own
		 * header determines its end. Required by firmware with release keys.
		 */
		signature: optional(signature),
		/** Patch from the running image to the same image; requires the feature `delta`. On any error `url` is used. */
		patch: optional(
			object({
				url: pattern(512, "^https?://[^\\s/]\\S*?$", "an http or https address"),
				/** SHA-256 of the image to be patched. */
				from: sha256,
				/** SHA-256 of the resulting image. */
				to: sha256,
			}),
		),
	}),
	/** Ends a running update with `ota_error`; `busy` once the image is selected. No effect without an update. */
	cancel_ota: command("cancel_ota", "cancel", {}),
	/** Contains secrets: the gateway keeps no copy. */
	set_settings: command("set_settings", "settings", { value: changedSettings }),
	query_crash: command("query_crash", "crash", {}),
	clear_crash: command("clear_crash", "crash", { id: crash.fields.id }),
	set_log: command("set_log", "log", {
		level: oneOf("off", "info"),
		/** Duration, after which the log stops. */
		seconds: integer(0, maxLogSeconds),
	}),
});
/**
 * Maximum length of a command's JSON in UTF-8: the longest `start_ota`. A device closes the connection if it receives
 * more: while parsing, its heap of 77 KB holds a command up to four times, in addition to the 16 KB of an update.
 */
export const maxCommandBytes = 7424;
export type CommandName = keyof typeof commands;

/** Commands whose value survives a restart. */
export type PersistentCommand = {
	[N in CommandName]: (typeof commands)[N] extends { readonly keeps: unknown } ? N : never;
}[CommandName];
export type PersistentSetting = (typeof commands)[PersistentCommand]["keeps"][number];
/** Keys in flash of the values that commands set. */
export const persistentSettings = Object.freeze(
	Object.values<Schema & { readonly keeps?: readonly string[] }>(commands).flatMap(
		({ keeps }) => keeps ?? [],
	),
);
export type CommandOf<N extends CommandName> = Infer<(typeof commands)[N]>;
export type Command = { [N in CommandName]: CommandOf<N> }[CommandName];

/** @returns the feature required for the command; undefined: none */
export function featureFor(command: Command): Feature | undefined {
	if (command.command === "play_audio" && command.value === "attention") return "chime";
	return commands[command.command].feature ?? undefined;
}

export const commandErrorCodes = Object.freeze([
	"unknown_command",
	"invalid_value",
	"unsupported",
	"busy",
] as const);
export type CommandErrorCode = (typeof commandErrorCodes)[number];

/** Messages from device to gateway, keyed by `type`. */
export const uplinks = Object.freeze({
	state_report: object({
		type: oneOf("state_report"),
		deviceId,
		timestamp,
		system: object({
			mac_address: macAddress,
			model: oneOf(...models),
			firmware_version: string(32),
			/** Security version of the firmware; absent: 0. The device rejects firmware with a lower one. */
			security_version: optional(integer(0, 65_535)),
			/** Running image; absent if the firmware does not run from an image. */
			image: optional(imageId),
			idf_version: string(32),
			cpu_freq_mhz: integer(0, 10_000),
			flash_size_mb: integer(0, 65_535),
			psram_size_mb: integer(0, 65_535),
		}),
		health: object({
			uptime_seconds: uint32,
			free_heap_bytes: uint32,
			min_free_heap_bytes: uint32,
			reset_reason: string(64),
			/** Present only if true: the device is in safe mode after three failed starts, without sound, haptics and sensors. */
			safe_mode: optional(boolean()),
			/** How far the clock was ahead before it was corrected since the start; absent: at most a day. */
			clock_ahead_seconds: optional(uint32),
		}),
		network: object({
			wifi_connected: boolean(),
			wifi_ssid: string(32),
			wifi_rssi: integer(-128, 0),
			ip_address: string(45),
			websocket_connected: boolean(),
			/** Access point; absent, like the channel, while disconnected or if the host does not know it. */
			bssid: optional(macAddress),
			channel: optional(integer(1, 233)),
			/** Number since the start. */
			reconnects: optional(uint32),
			/** Reason of the last disconnection since the start: a WiFiReason or `unknown`. */
			last_loss: optional(string(64)),
		}),
		peripherals: object({
			audio: object({
				volume: percent,
				/** Absent, like the next field, from firmware without the feature `mute`. */
				muted: optional(boolean()),
				/** Volume that unmuting restores; absent unless muted. */
				unmuted_volume: optional(integer(1, 100)),
				player_state: playerState,
				current_track: pattern(256, "^(file://.+|none)$", "file://<path> or none"),
				/** Why nothing is audible; absent, like other faults: no known fault. */
				fault: optional(string(128)),
			}),
			led_ring: object({
				state_id: integer(0, 6),
				state_name: ledPreset,
				brightness_coef: float(0, 1),
				/** Light that covers the state; absent: none. */
				light: optional(object({ color: hexColor, effect: lightEffect, progress: optional(float(0, 1)) })),
				/** Present only if true. */
				auto_brightness: withPart("ambientLight", optional(boolean())),
			}),
			buttons: object({
				btn_play: boolean(),
				btn_mute: boolean(),
				btn_vol_up: boolean(),
				btn_vol_down: boolean(),
			}),
			haptic_intensity: withPart("haptics", percent),
			ambient_light: withPart("ambientLight", integer(0, 4095)),
			/** Known or possible fault of the sensor. */
			ambient_light_fault: withPart("ambientLight", optional(string(128))),
			touch_active: withPart("touch", boolean()),
			touch_fault: withPart("touch", optional(string(128))),
		}),
		/** Absent: no quiet hours are set. */
		quiet: optional(
			object({
				id: quietHours.fields.id,
				/** End of the current period. */
				until: optional(timestamp),
			}),
		),
	}),
	ota_progress: object({
		type: oneOf("ota_progress"),
		percent,
		bytes_written: uint32,
		bytes_total: uint32,
	}),
	ota_complete: object({ type: oneOf("ota_complete") }),
	ota_error: object({ type: oneOf("ota_error"), reason: string(1024) }),
	/** Result of a settings trial. */
	settings_result: object({
		type: oneOf("settings_result"),
		deviceId,
		outcome: oneOf("kept", "returned"),
		/** Why the device returned to its previous settings. */
		reason: optional(string(512)),
	}),
	/** Progress of a requested sound. Each has exactly one final state: played, stopped, failed or expired. */
	sound_update: object({ type: oneOf("sound_update"), deviceId, ...soundUpdate.fields }),
	command_error: object({
		type: oneOf("command_error"),
		deviceId,
		/** Name of the rejected command; empty if it had none. */
		command: string(64),
		code: oneOf(...commandErrorCodes),
		message: string(1024),
	}),
	/** Answers `query_crash`. */
	crash_report: object({
		type: oneOf("crash_report"),
		deviceId,
		/** Absent: no crash. */
		crash: optional(crash),
	}),
	/** Live log, while `set_log` is active: at most one message a second, of up to 4 KB. */
	log: object({
		type: oneOf("log"),
		deviceId,
		/** Sequence number, 0 for the first message after `set_log`. */
		seq: uint32,
		/** Lines lost since the previous message. */
		dropped: uint32,
		/** Each ends with a line feed. */
		lines: string(2048),
	}),
});
export type UplinkType = keyof typeof uplinks;
export type UplinkOf<T extends UplinkType> = Infer<(typeof uplinks)[T]>;
export type Uplink = { [T in UplinkType]: UplinkOf<T> }[UplinkType];
export type StateReport = UplinkOf<"state_report">;
/** State report with every field listed, so that the compiler detects one that the firmware omits. */
export type CompleteReport = Complete<(typeof uplinks)["state_report"]>;
export type Light = NonNullable<CompleteReport["peripherals"]["led_ring"]["light"]>;
export type CommandError = UplinkOf<"command_error">;
export type SettingsResult = UplinkOf<"settings_result">;
export type SoundUpdate = UplinkOf<"sound_update">;
export type CrashReport = UplinkOf<"crash_report">;
export type LogMessage = UplinkOf<"log">;

export interface Rejection {
	readonly code: Exclude<CommandErrorCode, "busy">;
	/** One sentence that explains what to change. */
	readonly message: string;
}
export type CheckedCommand =
	| { readonly command: Command; readonly rejection?: undefined }
	| { readonly rejection: Rejection };

/** @param value parsed JSON @param model undefined: commands for parts of any model are accepted */
export function checkCommand(value: unknown, model?: Model): CheckedCommand {
	const name = isRecord(value) ? value.command : undefined;
	if (typeof name !== "string" || !isCommandName(name))
		return reject("unknown_command", `command must be one of ${Object.keys(commands).join(", ")}`);
	const schema: Schema = commands[name];
	if (schema.part && model && !hasPart(model, schema.part))
		return reject("unsupported", `${name} exists on ${modelsWith(schema.part)} only`);
	if (matches(commands[name], value, model)) return { command: value };
	return reject("invalid_value", `${name}: ${describeProblem(findProblem(schema, value, model))}`);
}

export type CheckedUplink =
	| { readonly uplink: Uplink; readonly problem?: undefined }
	| { readonly problem: string };

/**
 * Validates an uplink; a state report against the model that it names.
 * @param value parsed JSON @returns the uplink, or a sentence that locates and describes the problem
 */
export function checkUplink(value: unknown): CheckedUplink {
	const type = isRecord(value) ? value.type : undefined;
	if (typeof type !== "string" || !isUplinkType(type))
		return { problem: `type must be one of ${Object.keys(uplinks).join(", ")}` };
	const model = modelNamedIn(value);
	if (matches(uplinks[type], value, model)) return { uplink: value };
	return { problem: `${type}: ${describeProblem(findProblem(uplinks[type], value, model))}` };
}

export function isCommandName(name: string): name is CommandName {
	return Object.hasOwn(commands, name);
}

function isUplinkType(type: string): type is UplinkType {
	return Object.hasOwn(uplinks, type);
}

function reject(code: Rejection["code"], message: string): CheckedCommand {
	return { rejection: { code, message } };
}

function modelNamedIn(report: unknown): Model | undefined {
	const system = isRecord(report) ? report.system : undefined;
	const name = isRecord(system) ? system.model : undefined;
	return models.find((model) => model === name);
}
