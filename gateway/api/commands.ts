/**
 * Commands of monitors: roles, wording of the page and the audit log, confirmation, and transfer to a replacement. The
 * schemas are in device/protocol/messages.ts.
 */

import { lightOf } from "../../device/protocol/light.js";
import type {
	Chime,
	CommandName,
	CommandOf,
	LastingCommand,
	StateReport,
	UplinkType,
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

/** Slider of the page, from 0 to 100: `scale` times the value. */
interface SliderWording {
	readonly label: string;
	readonly scale: number;
}

interface Wording<P> {
	readonly roles: Roles;
	/** Entry of the audit log; braces contain the name of a field of the message. */
	readonly audit: string;
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
	| { readonly reported: (report: StateReport) => ValueOf<P> | undefined }
	/** Null: the command cannot be confirmed, so it is not available for many devices or a control. */
	| { readonly confirmedBy: Confirms<P> | "connection" | null; readonly handover?: "extension" };

/** Whether a replacement is sent the value that the previous board reported, or gets it from an extension. */
type Handover<N> = N extends LastingCommand
	? { readonly handover: "sent" | "extension" }
	: { readonly handover?: "sent" };

function hasSound({ peripherals }: StateReport): boolean {
	return peripherals.audio.current_track.startsWith("file:///sounds/");
}

function isPlaying({ peripherals: { audio } }: StateReport, chime: Chime): boolean {
	return audio.player_state === "playing" && audio.current_track.endsWith(`/${chime}`);
}

const table = {
	set_volume: {
		roles: users,
		audit: "Volume set to {value}",
		title: ({ value }) => (value === 0 ? "Mute" : `Volume ${value}`),
		slider: { label: "Volume", scale: 1 },
		reported: ({ peripherals }) => peripherals.audio.volume,
		handover: "sent",
	},
	set_brightness: {
		roles: users,
		audit: "Brightness set to {value}",
		title: ({ value }) => `Brightness ${Math.round(value * 100)} %`,
		slider: { label: "Brightness", scale: 100 },
		reported: ({ peripherals }) => peripherals.led_ring.brightness_coef,
		handover: "sent",
	},
	set_auto_brightness: {
		roles: users,
		audit: "Brightness by the room: {value}",
		reported: ({ peripherals }) => peripherals.led_ring.auto_brightness ?? false,
		handover: "sent",
	},
	set_light: {
		roles: users,
		audit: "Ring lit",
		confirmedBy: ({ peripherals: { led_ring } }, { value }) => {
			const light = lightOf(value);
			return led_ring.light?.color === light?.color && led_ring.light?.effect === light?.effect;
		},
	},
	set_led: {
		roles: users,
		audit: "Ring set to {value}",
		title: ({ value }) => `Ring: ${presetWords.find(([one]) => one === value)?.[1] ?? value}`,
		reported: ({ peripherals }) => peripherals.led_ring.state_name,
	},
	set_haptics: {
		roles: users,
		audit: "Haptics set to {value}",
		slider: { label: "Haptics", scale: 1 },
		reported: ({ peripherals }) => peripherals.haptic_intensity,
		handover: "sent",
	},
	play_audio: {
		roles: users,
		audit: "Chime played: {value}",
		title: ({ value }) => `Chime: ${chimeWords[value]}`,
		confirmedBy: (report, { value }) => isPlaying(report, value),
	},
	stop_sound: { roles: users, audit: "Sound stopped", confirmedBy: (report) => !hasSound(report) },
	identify: {
		roles: users,
		audit: "Identified",
		// In quiet hours, during another sound, or with a codec fault the ring flashes without the chime.
		confirmedBy: (report) =>
			report.peripherals.audio.fault !== undefined ||
			report.quiet?.until !== undefined ||
			hasSound(report) ||
			isPlaying(report, "startup"),
	},
	restart: {
		roles: monitors,
		audit: "Restarted",
		sending: "restarting",
		confirmedBy: ({ health }, _, passedMs) => health.uptime_seconds * 1000 < passedMs,
		// Time for Wi-Fi, TLS and one failed round of retries, of 31 s.
		reconnects: { withinMs: 60_000, otherwise: "The device did not restart in time." },
	},
	query_state: { roles: users, audit: "Report asked for", confirmedBy: () => true },
	boot_device: {
		roles: monitors,
		audit: "Reconnected",
		title: () => "Reconnect",
		confirmedBy: "connection",
		reconnects: { withinMs: 11_000, otherwise: "The device did not come back in time." },
	},
	play_sound: { roles: users, audit: "Sound played", confirmedBy: null },
	start_sound: { roles: users, audit: "Sound started", confirmedBy: null },
	set_quiet: { roles: monitors, audit: "Quiet hours sent", confirmedBy: null, handover: "extension" },
	trigger_ota: { roles: monitors, audit: "Update to {version} started", confirmedBy: null },
	start_ota: { roles: monitors, audit: "Update started", confirmedBy: null },
	set_settings: {
		roles: monitors,
		audit: "Settings changed",
		sending: "trying new settings",
		confirmedBy: null,
	},
	query_crash: { roles: monitors, audit: "Crash asked for", confirmedBy: null },
	clear_crash: { roles: monitors, audit: "Crash cleared", confirmedBy: null },
	set_log: { roles: monitors, audit: "Live log set to {level}", confirmedBy: null },
} as const satisfies {
	readonly [N in Action]: Wording<Payloads[N]> & Confirmation<Payloads[N]> & Handover<N>;
};

type Table = typeof table;
/** Commands that a report, or the next connection, confirms. */
export type AskName = {
	[N in Action]: Table[N] extends { readonly confirmedBy: null } ? never : N;
}[Action];
export type Ask = Payloads[AskName];
export type SliderName = {
	[N in Action]: Table[N] extends { readonly slider: unknown } ? N : never;
}[Action];
/** Commands that a replacement is sent. */
export type HandedOverName = {
	[N in Action]: Table[N] extends { readonly handover: "sent" } ? N : never;
}[Action];

/** Command definitions, by name. */
export const commandEntries: {
	readonly [N in Action]: Wording<Payloads[N]> & {
		readonly reported?: (report: StateReport) => unknown;
		readonly confirmedBy?: Confirms<Payloads[N]> | "connection" | null;
		readonly handover?: "sent" | "extension";
	};
} = table;

export function sliderOf(name: SliderName): SliderWording {
	return table[name].slider;
}

export function isAskName(name: Action): name is AskName {
	return commandEntries[name].confirmedBy !== null;
}

export function isHandedOver(name: Action): name is HandedOverName {
	return commandEntries[name].handover === "sent";
}

/** Whether a person may do an action; an unknown one requires the role `monitor`. */
export function mayDo({ role }: Person, action: string): boolean {
	return (entryOf(commandEntries, action)?.roles ?? monitors).includes(role);
}

/** "Volume 40" */
export function titleOf<N extends AskName>(payload: Payloads[N] & { readonly command: N }): string {
	const { command } = payload;
	return commandEntries[command].title?.(payload) ?? capital(command.replaceAll("_", " "));
}

/** Whether a report shows what was asked for. @param passedMs since the command was sent */
export function isConfirmedBy<N extends AskName>(
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
			"Loads a sound and plays it from the first second on: a WAV of PCM, 16 bit, mono, 16 kHz, by http or https, without redirect, of a known length. It replaces what plays. volume holds for this sound alone. With ready the device waits for start_sound, at most 10 s. chime is heard before it, at chime_volume, and then 0.3 s of silence. sound_update says how it goes. The device's token is sent to its own gateway alone. A repeated id is answered with its latest sound_update and not played again.",
		example: {
			command: "play_sound",
			value: { id: "dinner-1", url: "http://192.168.1.10:8080/sounds/dinner.wav", volume: 60, ready: true },
		},
		answers: ["sound_update"],
	},
	start_sound: {
		description: "Begins a sound that was sent with ready, at once or as soon as it is loaded.",
		example: { command: "start_sound", value: { id: "dinner-1" } },
		answers: ["sound_update"],
	},
	stop_sound: {
		description:
			"Stops the sound with this id, or without one whatever sound plays or loads; else it does nothing.",
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
			"Restarts the device: it closes the connection with 1000, restarts within a second, and connects again with the reset reason SW_RESET and a new uptime. Busy while an update or a trial of settings is running, or the firmware is not confirmed yet.",
		example: { command: "restart" },
	},
	set_brightness: {
		description: "Sets the LED ring's brightness.",
		example: { command: "set_brightness", value: 0.25 },
	},
	set_light: {
		description:
			"Uses the LED ring as a light, over its state: a color (#rrggbb, or a list of red, green and blue), an effect (solid without one), progress (0 to 1, how much of the ring is lit by the effect progress), and seconds after which it ends (0 or none: without end). null, no value, set_led or a restart ends it. set_brightness holds for it.",
		example: { command: "set_light", value: { color: "#ff8800", effect: "breathe", seconds: 60 } },
	},
	set_auto_brightness: {
		description:
			"Whether the LED ring is darker in a dark room, never brighter than set_brightness says. PROTO-1 only.",
		example: { command: "set_auto_brightness", value: true },
	},
	set_quiet: {
		description:
			"Sets the quiet hours, which the device keeps over restarts and follows by its own clock; null ends them. While a period (Unix seconds) holds, what is heard is at most as loud as volume, the LED ring at most as bright as brightness, and with only_urgent sounds that are not urgent, and chimes, are not played. Urgent sounds keep their volume. What was set by other commands, and is reported, stays. A report says the id, and until while a period holds. Gateways send it by the quiet hours that people have set.",
		example: {
			command: "set_quiet",
			value: { id: "n1", periods: [{ from: 1795982400, until: 1796014800 }], volume: 20, brightness: 0.1 },
		},
	},
	set_haptics: {
		description:
			"Sets the haptic motor's intensity, its PWM's duty in percent; from rest it needs about 25. PROTO-1 only.",
		example: { command: "set_haptics", value: 60 },
	},
	set_settings: {
		description:
			"Tries new settings: the device restarts with them, keeps them once it has reached a gateway within 120 s, and otherwise returns to its previous ones; settings_result says which. An empty password, ssid2 (with password2), password2, ca or sntp is removed. The values are secrets, which the gateway neither keeps nor relays.",
		example: {
			command: "set_settings",
			value: { ssid: "workshop", password: "correct horse", gateway: "wss://gateway.example/device" },
		},
		answers: ["settings_result"],
	},
	query_crash: {
		description:
			"Requests a crash_report. The gateway sends it itself to each device that names the feature, once per connection.",
		example: { command: "query_crash" },
		answers: ["crash_report"],
	},
	clear_crash: {
		description:
			"Ends the report of the crash with this id: it is stored. The gateway sends it itself, after it has written the crash to disk.",
		example: { command: "clear_crash", id: "5f0c21b7" },
		answers: [],
	},
	set_log: {
		description:
			"Starts the live log for `seconds`, with the lines that the device has kept, or switches it off. It ends by itself, also with the connection.",
		example: { command: "set_log", level: "info", seconds: 60 },
		answers: ["log"],
	},
	start_ota: {
		description:
			"Downloads and installs a firmware image; ota_progress reports the progress. signature is base64 of r and s (IEEE P1363) of ECDSA P-256 over the SHA-256 of the image as it ends by its own header; firmware with release keys needs it. patch names a file that makes the same image from the running one: from and to are the SHA-256 of both images. It is sent to devices with the feature delta, which download the whole image after any error of the patch.",
		example: {
			command: "start_ota",
			url: "http://192.168.1.10:8080/releases/firmware-v1.4.0.bin?model=dev-1&chip=esp32s3",
		},
		answers: ["ota_progress", "ota_error"],
	},
};
