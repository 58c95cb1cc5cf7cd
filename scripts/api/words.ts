/** What each name of the protocol means, in words. A name that is added to the protocol does not compile until it is here. */

import type { CommandErrorCode, CommandName, UplinkType } from "../../device/protocol/messages.js";
import type { ChangeReason } from "../../gateway/sessions/view.js";
import type { MonitorErrorCode, MonitorMessageType } from "../../gateway/sockets/monitor-messages.js";

export const commandWords: Readonly<Record<CommandName, string>> = {
	set_volume: "Sets the codec's output gain: 0 is silent, 100 the most.",
	query_state: "Asks for a state_report, at once.",
	set_led: "Sets the LED ring's preset.",
	play_audio: "Plays a chime from flash.",
	identify: "Makes the device show itself: its ring flashes white for 3 s, and the startup chime plays.",
	set_brightness: "Sets the LED ring's brightness.",
	set_haptics: "Sets the haptic motor's intensity. PROTO-1 only.",
	start_ota: "Starts to fetch and install a firmware; ota_progress tells how it goes.",
};

export const uplinkWords: Readonly<Record<UplinkType, string>> = {
	state_report: "All of the device's state: each 5 s, at each change, and when asked for.",
	ota_progress: "How far an update has come; at most four a second.",
	ota_complete: "The new firmware is verified and will be started in about 500 ms.",
	ota_error: "An update has failed; the previous firmware runs on.",
	command_error: "A command was not obeyed; the state is unchanged.",
};

export const commandErrorWords: Readonly<Record<CommandErrorCode, string>> = {
	unknown_command: "no such command",
	invalid_value: "a value that is missing or out of its range",
	unsupported: "a command that this model does not have",
	busy: "not while an update runs, or before the new firmware is confirmed",
};

export const monitorWords: Readonly<Record<MonitorMessageType, string>> = {
	boot_device: "Closes the device's connection with 1000; it comes back by itself.",
	control_device: "Forwards a command, where the target's model could obey it.",
	trigger_ota:
		"Starts an update: `latest`, `custom` (what was uploaded), a version, or nothing: latest, else custom.",
};

const anyMessage = ["invalid_json", "invalid_message", "unknown_type", "rate_limited"] as const;
const anyTarget = ["unknown_target", "target_offline"] as const;

/** What a monitor's message may be refused for. */
export const monitorErrors: Readonly<Record<MonitorMessageType, readonly MonitorErrorCode[]>> = {
	boot_device: [...anyMessage, ...anyTarget],
	control_device: [...anyMessage, ...anyTarget, "invalid_command", "unsupported_command"],
	trigger_ota: [
		...anyMessage,
		...anyTarget,
		"no_firmware",
		"unknown_version",
		"incompatible_firmware",
		"ota_in_progress",
		"storage_failed",
	],
};

export const monitorErrorWords: Readonly<Record<MonitorErrorCode, string>> = {
	invalid_json: "the frame is no JSON",
	invalid_message: "a field is missing or not as described",
	unknown_type: "no such type",
	unknown_target: "no session or device is called so",
	target_offline: "the device is known and away",
	invalid_command: "the payload is no valid command",
	unsupported_command: "the target's model does not have that command",
	no_firmware: "there is nothing to install",
	unknown_version: "the catalog has no such release",
	incompatible_firmware: "the firmware is for another model or chip",
	ota_in_progress: "an update of that device is running",
	storage_failed: "the update could not be written to disk, and was not started",
	rate_limited: "over 50 messages a second, or over 100 at once",
};

export const reasonWords: Readonly<Record<ChangeReason, string>> = {
	snapshot:
		"the first frame, and again after a device was forgotten: every session, or where `remaining` is there the first of them",
	connected: "a device connected; with `remaining`, the next sessions of a snapshot that have no name yet",
	identified:
		"its first report, or another model or version than before; with `remaining`, the next named sessions of a snapshot",
	disconnected: "its connection ended",
	replaced: "the same device connected anew",
	boot: "a monitor had its connection closed",
	ota: "its update moved on",
};

/** "`busy`: not while an update runs…", a line each. */
export function listOf<N extends string>(names: readonly N[], words: Readonly<Record<N, string>>): string {
	return names.map((name) => `- \`${name}\`: ${words[name]}`).join("\n");
}
