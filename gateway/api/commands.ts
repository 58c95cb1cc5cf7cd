/**
 * Commands of monitors: roles, wording of the page, confirmation, and transfer to a replacement. The schemas are in
 * device/protocol/messages.ts.
 */

import { lightOf } from "../../device/protocol/light.js";
import {
	type Chime,
	type CommandName,
	type CommandOf,
	commands,
	type PersistentCommand,
	type StateReport,
	type UplinkType,
} from "../../device/protocol/messages.js";
import { entryOf } from "../../device/protocol/schema.js";
import { chimeWords, presetWords } from "./client/command-words.js";
import { capital } from "./client/words.js";
import { monitors, type Roles, users } from "./permissions.js";
import type { Person } from "./person.js";

/** Command to a device, or another monitor message that changes something. */
export type Action = CommandName | "boot_device" | "trigger_ota";

type Payloads = { readonly [N in CommandName]: CommandOf<N> } & {
	readonly [N in Exclude<Action, CommandName>]: { readonly command: N };
};
type ValueOf<P> = P extends { readonly value: infer V } ? V : never;

/** Slider of the page, which shows `scale` times the value. */
interface SliderWording {
	readonly label: string;
	readonly scale: number;
}

interface Wording<P> {
	readonly roles: Roles;
	/** Default: the command's name. */
	readonly title?: (payload: P) => string;
	readonly slider?: SliderWording;
	/** Status of a control during confirmation. Default: sending. */
	readonly sending?: string;
	/** Timeout of the reconnection after a command that ends the connection, and the error after it. */
	readonly reconnects?: { readonly withinMs: number; readonly otherwise: string };
}

/** @param passedMs since the command was sent */
type Confirms<P> = (report: StateReport, payload: P, passedMs: number) => boolean;

/** Confirmation of a command: a report with its value, another report, or the next connection. */
type Confirmation<P> =
	| {
			readonly reported: (report: StateReport) => ValueOf<P> | undefined;
			/** Default: the reported value. */
			readonly confirmedBy?: Confirms<P>;
	  }
	/** Null: the command cannot be confirmed, so it is not available for many devices or a control. */
	| { readonly confirmedBy: Confirms<P> | "connection" | null; readonly transfer?: "extension" };

/** Transfer to a replacement: the last reported value is sent, or an extension handles it. */
type Transfer<N> = N extends PersistentCommand
	? { readonly transfer: "sent" | "extension" }
	: { readonly transfer?: "sent" };

function hasSound({ peripherals }: StateReport): boolean {
	return peripherals.audio.current_track.startsWith("file:///sounds/");
}

function isPlaying({ peripherals: { audio } }: StateReport, chime: Chime): boolean {
	return audio.player_state === "playing" && audio.current_track.endsWith(`/${chime}`);
}

const table = {
	set_volume: {
		roles: users,
		title: ({ value }) => (value === 0 ? "Mute" : `Volume ${value}`),
		slider: { label: "Volume", scale: 1 },
		confirmedBy: ({ peripherals: { audio } }, { value }) =>
			audio.volume === value || audio.unmuted_volume === value,
		reported: ({ peripherals: { audio } }) => audio.unmuted_volume ?? audio.volume,
		transfer: "sent",
	},
	set_mute: {
		roles: users,
		title: ({ value }) => (value ? "Mute" : "Unmute"),
		reported: ({ peripherals }) => peripherals.audio.muted,
		transfer: "sent",
	},
	set_brightness: {
		roles: users,
		title: ({ value }) => `Brightness ${Math.round(value * 100)} %`,
		slider: { label: "Brightness", scale: 100 },
		reported: ({ peripherals }) => peripherals.led_ring.brightness_coef,
		transfer: "sent",
	},
	set_auto_brightness: {
		roles: users,
		reported: ({ peripherals }) => peripherals.led_ring.auto_brightness ?? false,
		transfer: "sent",
	},
	set_light: {
		roles: users,
		confirmedBy: ({ peripherals: { led_ring } }, { value }) => {
			const light = lightOf(value);
			return led_ring.light?.color === light?.color && led_ring.light?.effect === light?.effect;
		},
	},
	set_led: {
		roles: users,
		title: ({ value }) => `Ring: ${presetWords.find(([preset]) => preset === value)?.[1] ?? value}`,
		reported: ({ peripherals }) => peripherals.led_ring.state_name,
	},
	set_haptics: {
		roles: users,
		slider: { label: "Haptics", scale: 1 },
		reported: ({ peripherals }) => peripherals.haptic_intensity,
		transfer: "sent",
	},
	play_audio: {
		roles: users,
		title: ({ value }) => `Chime: ${chimeWords[value]}`,
		confirmedBy: (report, { value }) => isPlaying(report, value),
	},
	stop_sound: { roles: users, confirmedBy: (report) => !hasSound(report) },
	identify: {
		roles: users,
		title: () => "Flash light",
		// In quiet hours, during another sound, or with a codec fault the ring flashes without the chime.
		confirmedBy: (report) =>
			report.peripherals.audio.fault !== undefined ||
			report.quiet?.until !== undefined ||
			hasSound(report) ||
			isPlaying(report, "startup"),
	},
	restart: {
		roles: monitors,
		sending: "restarting",
		confirmedBy: ({ health }, _, passedMs) => health.uptime_seconds * 1000 < passedMs,
		// Time for Wi-Fi, TLS and one failed round of retries, of 31 s.
		reconnects: { withinMs: 60_000, otherwise: "The device did not restart in time." },
	},
	query_state: { roles: users, confirmedBy: () => true },
	boot_device: {
		roles: monitors,
		title: () => "Reconnect",
		confirmedBy: "connection",
		reconnects: { withinMs: 11_000, otherwise: "The device did not reconnect in time." },
	},
	play_sound: { roles: users, confirmedBy: null },
	start_sound: { roles: users, confirmedBy: null },
	set_quiet: { roles: monitors, confirmedBy: null, transfer: "extension" },
	trigger_ota: { roles: monitors, confirmedBy: null },
	start_ota: { roles: monitors, confirmedBy: null },
	cancel_ota: {
		roles: monitors,
		title: () => "Cancel update",
		sending: "canceling",
		confirmedBy: ({ peripherals }) => peripherals.led_ring.state_name !== "updating",
	},
	set_settings: {
		roles: monitors,
		sending: "trying new settings",
		confirmedBy: null,
	},
	query_crash: { roles: monitors, confirmedBy: null },
	clear_crash: { roles: monitors, confirmedBy: null },
	set_log: { roles: monitors, confirmedBy: null },
} as const satisfies {
	readonly [N in Action]: Wording<Payloads[N]> & Confirmation<Payloads[N]> & Transfer<N>;
};

type Table = typeof table;
/** Commands confirmed by a report or the next connection. */
export type ConfirmableName = {
	[N in keyof Table]: Table[N] extends { readonly confirmedBy: null } ? never : N;
}[keyof Table];
export type ConfirmableCommand = Payloads[ConfirmableName];
export type SliderName = {
	[N in keyof Table]: Table[N] extends { readonly slider: unknown } ? N : never;
}[keyof Table];
/** Commands sent to a replacement. */
export type TransferredName = {
	[N in keyof Table]: Table[N] extends { readonly transfer: "sent" } ? N : never;
}[keyof Table];

/** Command definitions, by name. */
export const commandEntries: {
	readonly [N in Action]: Wording<Payloads[N]> & {
		readonly reported?: (report: StateReport) => unknown;
		readonly confirmedBy?: Confirms<Payloads[N]> | "connection" | null;
		readonly transfer?: "sent" | "extension";
	};
} = table;

export function sliderOf(name: SliderName) {
	const { scale, label } = table[name].slider;
	const { minimum, maximum } = commands[name].fields.value;
	return { label, scale, range: [minimum * scale, maximum * scale] } as const;
}

export function isConfirmable(name: Action): name is ConfirmableName {
	return commandEntries[name].confirmedBy !== null;
}

export function isTransferred(name: Action): name is TransferredName {
	return commandEntries[name].transfer === "sent";
}

/** Whether a person may do an action; an unknown one requires the role `monitor`. */
export function mayDo({ role }: Person, action: string): boolean {
	return (entryOf(commandEntries, action)?.roles ?? monitors).includes(role);
}

/** Returns the title of a command, such as "Volume 40". */
export function titleOf<N extends ConfirmableName>(payload: Payloads[N] & { readonly command: N }): string {
	const { command } = payload;
	return commandEntries[command].title?.(payload) ?? capital(command.replaceAll("_", " "));
}

/** Whether a report confirms a command. @param passedMs since the command was sent */
export function isConfirmedBy<N extends ConfirmableName>(
	payload: Payloads[N] & { readonly command: N },
	report: StateReport,
	passedMs: number,
): boolean {
	const { confirmedBy, reported } = commandEntries[payload.command];
	if (typeof confirmedBy === "function") return confirmedBy(report, payload, passedMs);
	const value = reported?.(report);
	const asked = "value" in payload ? payload.value : undefined;
	// Devices round fractions.
	if (typeof value === "number" && typeof asked === "number") return Math.abs(value - asked) < 1e-4;
	return value === asked;
}

interface CommandDocument<N extends CommandName> {
	readonly description: string;
	/** Example, which the tests send to a running gateway. */
	readonly example: CommandOf<N>;
	/** Uplinks sent in response to the command. Default: a state report. */
	readonly answers?: readonly UplinkType[];
}

/** Documentation for asyncapi.yaml; separate from the entries to keep it out of the page's bundle. */
export const commandDocuments: { readonly [N in CommandName]: CommandDocument<N> } = {
	set_volume: {
		description: "Sets the codec's output gain, from 0 (silent) to 100.",
		example: { command: "set_volume", value: 40 },
	},
	set_mute: {
		description:
			"Mutes the device, or restores its last volume above 0, which reports contain as unmuted_volume while it is muted. Buttons and set_volume mute and unmute too.",
		example: { command: "set_mute", value: true },
	},
	query_state: {
		description: "Requests a state_report at once.",
		example: { command: "query_state" },
	},
	set_led: {
		description: "Sets the LED ring's preset.",
		example: { command: "set_led", value: "rainbow" },
	},
	play_audio: {
		description: "Plays a chime from flash.",
		example: { command: "play_audio", value: "startup" },
	},
	play_sound: {
		description:
			"Streams a sound over http or https, without redirects: a WAV file of known length with 16-bit PCM, mono, 16 kHz. Playback starts once the first second is buffered, and replaces the current sound. volume applies to this sound only. With ready the device waits for start_sound, at most 10 s. chime is played before it, at chime_volume, followed by 0.3 s of silence. sound_update reports the progress. The device sends its token to its own gateway only. A repeated id is answered with its latest sound_update and not played again.",
		example: {
			command: "play_sound",
			value: { id: "dinner-1", url: "http://192.168.1.10:8080/sounds/dinner.wav", volume: 60, ready: true },
		},
		answers: ["sound_update"],
	},
	start_sound: {
		description: "Starts a sound that was sent with ready, at once or as soon as it is buffered.",
		example: { command: "start_sound", value: { id: "dinner-1" } },
		answers: ["sound_update"],
	},
	stop_sound: {
		description: "Stops the sound with this id; without an id, any sound. No effect if there is none.",
		example: { command: "stop_sound", value: { id: "dinner-1" } },
		answers: ["sound_update"],
	},
	identify: {
		description:
			"Makes the device easy to find: its LED ring flashes white for 3 s, and it plays the startup chime.",
		example: { command: "identify" },
	},
	restart: {
		description:
			"Restarts the device: it closes the connection with 1000, restarts within a second, and reconnects with the reset reason SW_RESET and a new uptime. Fails with busy during an update, a trial of settings, or the probation of new firmware.",
		example: { command: "restart" },
	},
	set_brightness: {
		description: "Sets the LED ring's brightness.",
		example: { command: "set_brightness", value: 0.25 },
	},
	set_light: {
		description:
			"Uses the LED ring as a light, instead of its preset: color (#rrggbb, or a list of red, green and blue), effect (default: solid), progress (0 to 1, lit part of the ring for the effect progress), and seconds until it ends (0 or absent: no end). null, no value, set_led or a restart ends it. set_brightness applies to it.",
		example: { command: "set_light", value: { color: "#ff8800", effect: "breathe", seconds: 60 } },
	},
	set_auto_brightness: {
		description:
			"Enables dimming of the LED ring in a dark room; set_brightness is the maximum. PROTO-1 only.",
		example: { command: "set_auto_brightness", value: true },
	},
	set_quiet: {
		description:
			"Sets the quiet hours, which the device stores and applies by its own clock; null removes them. During a period (Unix seconds) volume and brightness limit sounds and the LED ring; with only_urgent, chimes and sounds that are not urgent are not played. Urgent sounds keep their volume. Values set by other commands stay and are reported unchanged. Reports contain the id, and during a period until. The gateway sends this command itself.",
		example: {
			command: "set_quiet",
			value: { id: "n1", periods: [{ from: 1795982400, until: 1796014800 }], volume: 20, brightness: 0.1 },
		},
	},
	set_haptics: {
		description:
			"Sets the intensity of the haptic motor: its PWM duty in percent. The motor starts at about 25. PROTO-1 only.",
		example: { command: "set_haptics", value: 60 },
	},
	set_settings: {
		description:
			"Tries new settings: the device restarts with them, stores them if it reaches a gateway within 120 s, and otherwise reverts to the previous ones; settings_result reports the outcome. An empty password, ssid2 (with password2), password2, ca or sntp is removed. The values are secrets, which the gateway neither stores nor relays.",
		example: {
			command: "set_settings",
			value: { ssid: "workshop", password: "correct horse", gateway: "wss://gateway.example/device" },
		},
		answers: ["settings_result"],
	},
	query_crash: {
		description:
			"Requests a crash_report. The gateway sends this command itself, once per connection, to each device with the feature.",
		example: { command: "query_crash" },
		answers: ["crash_report"],
	},
	clear_crash: {
		description:
			"Acknowledges the crash with this id, so that it is not reported again. The gateway sends this command itself after it has written the crash to disk.",
		example: { command: "clear_crash", id: "5f0c21b7" },
		answers: [],
	},
	set_log: {
		description:
			"Starts the live log for `seconds`, beginning with buffered lines, or stops it. It ends automatically, and with the connection.",
		example: { command: "set_log", level: "info", seconds: 60 },
		answers: ["log"],
	},
	start_ota: {
		description:
			"Downloads and installs a firmware image; ota_progress reports the progress. signature is base64 of r and s (IEEE P1363) of ECDSA P-256 over the SHA-256 of the image, without data after the end given by its header; firmware with release keys requires it. patch is a file that converts the running image to the new one: from and to are the SHA-256 of both. It is sent to devices with the feature delta, which download the whole image if the patch fails.",
		example: {
			command: "start_ota",
			url: "http://192.168.1.10:8080/releases/firmware-v1.4.0.bin?model=dev-1&chip=esp32s3",
		},
		answers: ["ota_progress", "ota_error"],
	},
	cancel_ota: {
		description:
			"Ends a running update, which then fails with the reason that it was canceled. Fails with busy while the new firmware is being activated. No effect without an update.",
		example: { command: "cancel_ota" },
		answers: ["ota_error"],
	},
};
