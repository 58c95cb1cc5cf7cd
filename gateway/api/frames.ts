/**
 * Frames from the gateway to monitors: types for the gateway and the page, and schemas for asyncapi.yaml. Their
 * descriptions are in scripts/api/descriptions.ts.
 */

import { uplinks } from "../../device/protocol/messages.js";
import { boolean, integer, oneOf, optional, string } from "../../device/protocol/schema.js";
import { play, playStates, shownAnnouncement } from "./announcement.js";
import { commandPart, sentCommand } from "./command.js";
import { deviceSummary, session } from "./session.js";
import {
	array,
	closed,
	counts,
	dateTime,
	described,
	type InferShape,
	nullable,
	reference,
	text,
	uuid,
} from "./shapes.js";
import { commandStates, deviceStatuses, pauseReasons, rolloutStatuses } from "./statuses.js";

export const monitorErrorCodes = [
	"invalid_json",
	"invalid_message",
	"unknown_type",
	"unknown_target",
	"target_offline",
	"invalid_command",
	"unsupported_command",
	"no_firmware",
	"unknown_version",
	"incompatible_firmware",
	"ota_in_progress",
	"storage_failed",
	"rate_limited",
	"forbidden",
] as const;
export type MonitorErrorCode = (typeof monitorErrorCodes)[number];

const requestId = described(optional(string(64)), "requestId of the message, if any");
const isOver = described(boolean(), "all its devices have ended");
const number = integer(0, Number.MAX_SAFE_INTEGER);
const atLeastOne = integer(1, Number.MAX_SAFE_INTEGER);

/** Schemas of all frames, by `type`. */
export const frames = {
	status_update: closed({
		type: oneOf("status_update"),
		reason: oneOf(
			"snapshot",
			"connected",
			"identified",
			"disconnected",
			"replaced",
			"boot",
			"ota",
			"crash",
			"labelled",
		),
		timestamp: dateTime,
		remaining: described(
			optional(number),
			"number of sessions of the snapshot in further frames, 0 in the last one; absent in a snapshot of one frame and in any other status_update",
		),
		sessions: array(reference({ session })),
	}),
	device_message: closed({
		type: oneOf("device_message"),
		sessionId: uuid,
		deviceId: nullable(text),
		message: reference(uplinks),
	}),
	summary: closed({
		type: oneOf("summary"),
		reason: oneOf("snapshot", "changed"),
		timestamp: dateTime,
		remaining: described(
			optional(number),
			"number of devices of the snapshot in further frames, 0 in the last one",
		),
		devices: array(reference({ device_summary: deviceSummary })),
		removed: described(optional(array(text)), "ids of removed devices; absent: none"),
	}),
	rollout_update: closed({
		type: oneOf("rollout_update"),
		id: text,
		version: described(
			text,
			"firmware version; a standing rollout proceeds to later releases of its channel",
		),
		status: described(oneOf(...rolloutStatuses, "deleted"), "deleted: removed from the gateway"),
		pausedBecause: nullable(oneOf(...pauseReasons)),
		counts: counts(deviceStatuses),
		revision: atLeastOne,
	}),
	announcement_update: closed({
		type: oneOf("announcement_update"),
		id: text,
		name: shownAnnouncement.fields.name,
		by: shownAnnouncement.fields.by,
		createdAt: dateTime,
		isOver,
		counts: counts(playStates),
		devices: described(array(play), "devices with changes since the previous frame"),
	}),
	command_update: closed({
		type: oneOf("command_update"),
		id: text,
		payload: sentCommand.fields.payload,
		by: sentCommand.fields.by,
		createdAt: dateTime,
		isOver,
		counts: counts(commandStates),
		devices: described(
			array(commandPart),
			"devices with changes since the previous frame, without waiting ones",
		),
	}),
	list_update: closed({
		type: oneOf("list_update"),
		list: described(
			oneOf("firmware", "rejections", "crashes"),
			"changed list; firmware: catalog, upload or history of updates",
		),
	}),
	cluster_update: closed({
		type: oneOf("cluster_update"),
		gateway: described(text, "name of the sending gateway: GATEWAY_NAME, or its host and port"),
		gateways: atLeastOne,
		alone: described(
			boolean(),
			"the other gateways are unreachable; their devices are shown as disconnected",
		),
		releasesDiffer: described(
			boolean(),
			"another gateway has other releases; all must have the same content in RELEASES_DIR",
		),
	}),
	ack: closed({
		type: oneOf("ack"),
		requestId,
		/** The `type` of the message. */
		command: text,
		sessionId: described(optional(uuid), "absent after subscribe"),
	}),
	error: closed({
		type: oneOf("error"),
		requestId,
		code: oneOf(...monitorErrorCodes),
		message: described(text, "problem and remedy, as a sentence"),
	}),
} as const;
export type FrameType = keyof typeof frames;
export type FrameOf<T extends FrameType> = InferShape<(typeof frames)[T]>;
export type MonitorFrame = { [T in FrameType]: FrameOf<T> }[FrameType];
/** Reason of a status_update. */
export type ChangeReason = FrameOf<"status_update">["reason"];

export function frameText<T extends FrameType>(frame: FrameOf<T>): string {
	return JSON.stringify(frame);
}
