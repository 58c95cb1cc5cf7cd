/** Descriptions of the protocol's names. A name that is added to the protocol does not compile until it is described here. */

import type { CommandErrorCode, CommandName, CommandOf, UplinkType } from "../../device/protocol/messages.js";
import type { ChangeReason, MonitorErrorCode } from "../../gateway/api/frames.js";
import { labelFields } from "../../gateway/api/label.js";
import type { MonitorMessageType } from "../../gateway/sockets/monitor-commands.js";

/** The tests send each example to a running gateway. */
export const commandDocuments: {
	readonly [N in CommandName]: { readonly description: string; readonly example: CommandOf<N> };
} = {
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
	},
	start_sound: {
		description: "Begins a sound that was sent with ready, at once or as soon as it is loaded.",
		example: { command: "start_sound", value: { id: "dinner-1" } },
	},
	stop_sound: {
		description:
			"Stops the sound with this id, or without one whatever sound plays or loads; else it does nothing.",
		example: { command: "stop_sound", value: { id: "dinner-1" } },
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
			"Uses the LED ring as a light, over its state: a colour (#rrggbb, or a list of red, green and blue), an effect (solid without one), progress (0 to 1, how much of the ring is lit by the effect progress), and seconds after which it ends (0 or none: without end). null, no value, set_led or a restart ends it. set_brightness holds for it.",
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
	},
	query_crash: {
		description:
			"Requests a crash_report. The gateway sends it itself to each device that names the feature, once per connection.",
		example: { command: "query_crash" },
	},
	clear_crash: {
		description:
			"Ends the report of the crash with this id: it is stored. The gateway sends it itself, after it has written the crash to disk.",
		example: { command: "clear_crash", id: "5f0c21b7" },
	},
	set_log: {
		description:
			"Starts the live log for `seconds`, with the lines that the device has kept, or switches it off. It ends by itself, also with the connection.",
		example: { command: "set_log", level: "info", seconds: 60 },
	},
	start_ota: {
		description:
			"Downloads and installs a firmware image; ota_progress reports the progress. signature is base64 of r and s (IEEE P1363) of ECDSA P-256 over the SHA-256 of the image as it ends by its own header; firmware with release keys needs it. patch names a file that makes the same image from the running one: from and to are the SHA-256 of both images. It is sent to devices with the feature delta, which download the whole image after any error of the patch.",
		example: {
			command: "start_ota",
			url: "http://192.168.1.10:8080/releases/firmware-v1.4.0.bin?model=dev-1&chip=esp32s3",
		},
	},
};

export const uplinkDescriptions: Readonly<Record<UplinkType, string>> = {
	state_report: "The device's whole state: every 5 s, after each change, and on request.",
	ota_progress: "The progress of an update, at most four times a second.",
	ota_complete: "The new firmware is verified; the device restarts into it in about 500 ms.",
	ota_error: "An update has failed; the previous firmware continues to run.",
	settings_result:
		"How a trial of new settings ended, on the connection that then stands: kept, or returned to the previous ones for a reason.",
	sound_update:
		"How a sound of play_sound goes: ready (where that was asked for), playing, and one end: played (the last sample has left the output), stopped (reason: button, chime, another sound, update, restart, command or quiet hours) or failed (reason: a sentence), with underruns and heard_ms.",
	command_error: "A command was refused; the state is unchanged.",
	crash_report:
		"Answers query_crash: the last end of the firmware that it did not ask for, if it was not cleared. Secret settings are masked.",
	log: "While the live log is on, at most once a second: what was traced since the previous one. Secret settings are masked.",
};

export const commandErrorDescriptions: Readonly<Record<CommandErrorCode, string>> = {
	unknown_command: "there is no such command",
	invalid_value: "a value is missing or out of range",
	unsupported: "this model does not have the command",
	busy: "an update or a trial of settings is running, the new firmware is not confirmed yet, or the device is in safe mode",
};

export const monitorDescriptions: Readonly<Record<MonitorMessageType, string>> = {
	boot_device: "Closes the device's connection with 1000; the device connects again by itself.",
	control_device: "Forwards a command to the device, if its model supports it.",
	trigger_ota:
		"Starts an update to `latest`, `custom` (the upload) or a version; without a version, to latest, or to custom where no release fits the model.",
};

/** The reasons for which any message of a monitor can be refused. */
export const anyMessage = ["invalid_json", "invalid_message", "unknown_type", "rate_limited"] as const;
const anyTarget = ["unknown_target", "target_offline"] as const;

/** The reasons for which each message of a monitor can be refused. */
export const monitorErrors: Readonly<Record<MonitorMessageType, readonly MonitorErrorCode[]>> = {
	boot_device: [...anyMessage, "forbidden", ...anyTarget],
	control_device: [...anyMessage, "forbidden", ...anyTarget, "invalid_command", "unsupported_command"],
	trigger_ota: [
		...anyMessage,
		"forbidden",
		...anyTarget,
		"no_firmware",
		"unknown_version",
		"incompatible_firmware",
		"ota_in_progress",
		"storage_failed",
	],
};

export const monitorErrorDescriptions: Readonly<Record<MonitorErrorCode, string>> = {
	invalid_json: "the frame is not JSON",
	invalid_message: "a field is missing or invalid",
	unknown_type: "there is no message of this type",
	unknown_target: "there is no such session or device",
	target_offline: "the device is known, but not connected",
	invalid_command: "the payload is not a valid command",
	unsupported_command: "the device's model does not have the command",
	no_firmware: "there is no firmware to install",
	unknown_version: "the catalog has no such release",
	incompatible_firmware: "the firmware is for another model or chip",
	ota_in_progress: "an update of this device is running",
	storage_failed: "the gateway could not store the update, which was not started",
	forbidden:
		"the token's role may not do this: a viewer changes nothing, a user plays and sets volume, light and haptics",
	rate_limited:
		"more than 50 messages per second, or 100 at once; or the summary was switched on more than once per second, or 20 times at once",
};

export const reasonDescriptions: Readonly<Record<ChangeReason, string>> = {
	snapshot:
		"the first frame, and again after a device was removed: all sessions, or with `remaining` the first of them",
	connected:
		"a device connected; with `remaining`: further sessions of a snapshot, not identified yet; or the monitor subscribed to the summary, and this session has no device yet",
	identified:
		"a device's first report, or its model or version changed; with `remaining`: further identified sessions of a snapshot; or the monitor subscribed to this device",
	disconnected: "the connection ended",
	replaced: "the same device connected again",
	boot: "a monitor had the connection closed",
	ota: "the device's update progressed",
	crash: "the device reported a crash, which is now stored",
	labelled: `a person changed the device's ${labelFields.join(", ").replace(/, (\w+)$/, " or $1")}`,
};

/** A Markdown list of names with their descriptions. */
export function listOf<N extends string>(
	names: readonly N[],
	descriptions: Readonly<Record<N, string>>,
): string {
	return names.map((name) => `- \`${name}\`: ${descriptions[name]}`).join("\n");
}
