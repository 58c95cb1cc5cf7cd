/** Descriptions of protocol names, except commands (gateway/api/commands.ts). */

import type { CommandErrorCode, UplinkType } from "../../device/protocol/messages.js";
import type { ChangeReason, FrameType, MonitorErrorCode } from "../../gateway/api/frames.js";
import { labelFields } from "../../gateway/api/label.js";
import type { MonitorMessageType } from "../../gateway/sockets/monitor-commands.js";

const commandErrorDescriptions: Readonly<Record<CommandErrorCode, string>> = {
	unknown_command: "there is no such command",
	invalid_value: "a value is missing or out of range",
	unsupported: "this model does not have the command",
	busy: "an update or a trial of settings is running, the new firmware is not confirmed yet, or the device is in safe mode",
};

export const uplinkDescriptions: Readonly<Record<UplinkType, string>> = {
	state_report: "Full state of the device: every 5 s, after each change, and on request.",
	ota_progress: "Progress of an update, at most four times a second.",
	ota_complete: "The new firmware is verified; the device restarts into it in about 500 ms.",
	ota_error: "An update failed; the previous firmware continues to run.",
	settings_result:
		"Result of a settings trial, sent on the resulting connection: kept, or returned to the previous ones with a reason.",
	sound_update:
		"How a sound of play_sound goes: ready (where that was asked for), playing, and one end: played (the last sample has left the output), stopped (reason: button, chime, another sound, update, restart, command or quiet hours) or failed (reason: a sentence), with underruns and heard_ms.",
	command_error: `A command was rejected; the state is unchanged:\n${listOf(commandErrorDescriptions)}`,
	crash_report:
		"Response to query_crash: the last unexpected end of the firmware, unless it was cleared. Secret settings are masked.",
	log: "Trace output since the previous message, at most once a second while the live log is on. Secret settings are masked.",
};

export const monitorDescriptions: Readonly<Record<MonitorMessageType, string>> = {
	boot_device: "Closes the device's connection with 1000; the device reconnects.",
	control_device: "Forwards a command to the device, if its model supports it.",
	trigger_ota:
		"Starts an update to `latest`, `custom` (the upload) or a version; without a version, to latest, or to custom if no release fits the model.",
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
	storage_failed: "storing the update failed, so it was not started",
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

export const frameDescriptions: Readonly<Record<FrameType, string>> = {
	status_update: `Changed sessions, and the reason:\n${listOf(reasonDescriptions)}`,
	device_message: "An uplink, unchanged.",
	summary:
		"Devices without their state, for a monitor that subscribed to the summary: all of them, then those in which anything has changed. A snapshot has `remaining` in each frame, and the reason snapshot in its first one, before which everything is forgotten; frames without `remaining` may come between.",
	rollout_update:
		"Progress of a rollout, at most once a second each; only for monitors of /monitor?rollouts, which also receive each active rollout after their snapshot. Counts are devices by status.",
	announcement_update:
		"Progress of an announcement, at most 4 a second; only for monitors with the query parameter `announcements`, which first receive the active announcements with all their devices.",
	command_update:
		"Progress of a command to many devices, at most 4 a second; only for monitors with the query parameter `commands`, which first receive the running commands with all their devices that are not waiting.",
	list_update:
		"Change of a list, at most once a second each; only for monitors of /monitor?lists. firmware: one of GET /ota/catalog, /ota/status and /ota/history; rejections: GET /api/rejections; crashes: GET /api/crashes.",
	cluster_update:
		"Number of gateways in the cluster, including this one; only in a cluster, for monitors of /monitor?cluster: after the snapshot and at each change.",
	ack: "The message was accepted and, if it is for a device, is being sent to it.",
	error: `The message was rejected:\n${listOf(monitorErrorDescriptions)}`,
};

/** Formats a Markdown list of names with their descriptions. */
export function listOf(descriptions: Readonly<Record<string, string>>): string {
	return Object.entries(descriptions)
		.map(([name, description]) => `- \`${name}\`: ${description}`)
		.join("\n");
}
