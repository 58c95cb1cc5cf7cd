/** Descriptions and examples of the frames in gateway/api/frames.ts. */

import { features } from "../../device/protocol/messages.js";
import { playStates } from "../../gateway/api/announcement.js";
import type { FrameOf, FrameType } from "../../gateway/api/frames.js";
import { noCounts } from "../../gateway/api/rollout.js";
import type { SessionRecord } from "../../gateway/api/session.js";
import { commandStates, zeros } from "../../gateway/api/statuses.js";
import { noUpdate } from "../../gateway/api/update.js";
import { listOf, monitorErrorDescriptions, reasonDescriptions } from "./descriptions.js";
import { deviceId, sessionId, timestamp, uplinkExamples } from "./examples.js";

type Frames = { readonly [T in FrameType]: { readonly description: string; readonly example: FrameOf<T> } };

const head = {
	deviceId,
	model: "DEV-1",
	connected: true,
	remoteAddress: "192.168.1.20",
	firmwareVersion: uplinkExamples.state_report.system.firmware_version,
	features,
} as const satisfies Partial<SessionRecord>;

export const monitorFrames: Frames = {
	status_update: {
		description: `Changed sessions, and the reason:\n${listOf(reasonDescriptions)}`,
		example: {
			type: "status_update",
			reason: "identified",
			timestamp,
			sessions: [
				{
					...head,
					sessionId,
					connectedAt: timestamp,
					lastSeenAt: timestamp,
					metadata: noUpdate,
					state: uplinkExamples.state_report,
				},
			],
		},
	},
	device_message: {
		description: "An uplink, unchanged.",
		example: { type: "device_message", sessionId, deviceId, message: uplinkExamples.ota_progress },
	},
	summary: {
		description:
			"Devices without their state, for a monitor that subscribed to the summary: all of them, then those in which anything has changed. A snapshot has `remaining` in each frame, and the reason snapshot in its first one, before which everything is forgotten; frames without `remaining` may come between.",
		example: {
			type: "summary",
			reason: "changed",
			timestamp,
			devices: [
				{
					...head,
					name: "Lobby speaker",
					chip: "esp32s3",
					rssi: -61,
					ssid: "workshop",
					volume: 40,
					attention: [{ kind: "crashed", since: timestamp, seen: false, count: 1, reason: "exception" }],
				},
			],
			removed: ["dev-1-7cdfa1a1b2c4"],
		},
	},
	rollout_update: {
		description:
			"Progress of a rollout, at most once a second each; only for monitors of /monitor?rollouts, which also receive each active rollout after their snapshot. Counts are devices by status.",
		example: {
			type: "rollout_update",
			id: "autumn",
			version: "1.4.0",
			status: "running",
			pausedBecause: null,
			counts: { ...noCounts, queued: 228, downloading: 4, soaking: 1, succeeded: 7, already_installed: 3 },
			revision: 2,
		},
	},
	announcement_update: {
		description:
			"Progress of an announcement, at most 4 a second; only for monitors with the query parameter `announcements`, which first receive the active announcements with all their devices.",
		example: {
			type: "announcement_update",
			id: "9f3c0a51b2d4e687",
			name: "Dinner",
			by: "monitor",
			createdAt: timestamp,
			isOver: false,
			counts: { ...zeros(playStates), away: 1, playing: 1 },
			devices: [
				{
					deviceId,
					state: "playing",
					reason: null,
					at: timestamp,
					lateMs: null,
					heardMs: null,
					underruns: 0,
				},
			],
		},
	},
	command_update: {
		description:
			"Progress of a command to many devices, at most 4 a second; only for monitors with the query parameter `commands`, which first receive the running commands with all their devices that are not waiting.",
		example: {
			type: "command_update",
			id: "9f3c0a51b2d4e687",
			payload: { command: "set_volume", value: 40 },
			by: "monitor",
			createdAt: timestamp,
			isOver: false,
			counts: { ...zeros(commandStates), away: 1, asked: 20, waiting: 278, done: 1 },
			devices: [{ deviceId, state: "done", reason: null, at: timestamp }],
		},
	},
	list_update: {
		description:
			"Change of a list, at most once a second each; only for monitors of /monitor?lists. firmware: one of GET /ota/catalog, /ota/status and /ota/history; rejections: GET /api/rejections; crashes: GET /api/crashes.",
		example: { type: "list_update", list: "rejections" },
	},
	cluster_update: {
		description:
			"Number of gateways in the cluster, including this one; only in a cluster, for monitors of /monitor?cluster: after the snapshot and at each change.",
		example: {
			type: "cluster_update",
			gateway: "hall-1:8080",
			gateways: 3,
			alone: false,
			releasesDiffer: false,
		},
	},
	ack: {
		description: "The message was accepted and, if it is for a device, is being sent to it.",
		example: { type: "ack", requestId: "2", command: "control_device", sessionId },
	},
	error: {
		description: `The message was rejected:\n${listOf(monitorErrorDescriptions)}`,
		example: {
			type: "error",
			requestId: "2",
			code: "target_offline",
			message: `${deviceId} is not connected; wait for its next status_update`,
		},
	},
};
