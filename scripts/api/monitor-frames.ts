/** The frames that the gateway sends to monitors, as JSON Schema with an example each. */

import { features } from "../../device/protocol/messages.js";
import { keysOf, models } from "../../device/protocol/schema.js";
import { label, labelFields } from "../../gateway/api/label.js";
import { noCounts, pauseReasons, rolloutStatuses } from "../../gateway/api/rollout.js";
import { otaStatuses } from "../../gateway/api/update.js";
import { addedMessages } from "../../gateway/extensions.js";

import { monitorMessages } from "../../gateway/sockets/monitor-commands.js";
import { listOf, monitorErrorDescriptions, reasonDescriptions } from "./descriptions.js";
import { deviceId, sessionId, timestamp, uplinkExamples } from "./examples.js";
import { type Json, type JsonObject, jsonSchemaOf } from "./json-schema.js";

export interface Frame {
	readonly description: string;
	readonly schema: JsonObject;
	readonly example: JsonObject;
}

const string = { type: "string" };
const stringOrNull = { type: ["string", "null"] };
const dateTime = { type: "string", format: "date-time" };

/** A reference within the same document. */
export function schemaRef(name: string): JsonObject {
	return { $ref: `#/components/schemas/${name}` };
}

const labelSchemas = Object.fromEntries(
	labelFields.map((name) => [
		name,
		{
			...jsonSchemaOf(label.fields[name]),
			description: "given by a person (PATCH /api/devices/{deviceId}); absent: none",
		},
	]),
);

/** What a session and a summary have in common. */
const head = {
	sessionId: { ...string, format: "uuid" },
	deviceId: { ...stringOrNull, description: "null until the device is identified" },
	model: { enum: [...models, null] },
	connected: { type: "boolean" },
	connectedAt: dateTime,
	lastSeenAt: dateTime,
	remoteAddress: string,
	firmwareVersion: { ...stringOrNull, description: "null before the first state_report" },
	features: {
		type: "array",
		items: { enum: [...features] },
		description: "the device's Device-Features, as far as this gateway knows them",
	},
	metadata: closed({
		otaStatus: {
			enum: [...otaStatuses],
			description: "updated may still become rolled_back for 5 minutes, until the new firmware is confirmed",
		},
		otaPercent: { type: ["integer", "null"], minimum: 0, maximum: 100 },
		otaVersion: stringOrNull,
		otaReason: { ...stringOrNull, description: "why it failed or was rolled back" },
	}),
	crashCount: {
		type: "integer",
		minimum: 1,
		maximum: 20,
		description: "of the last 20 crashes, those of the firmware version that runs; absent: none",
	},
	...labelSchemas,
};
const sometimes = ["crashCount", ...labelFields];

export const sessionSchema: JsonObject = closed(
	{ ...head, state: { anyOf: [schemaRef("state_report"), { type: "null" }] } },
	sometimes,
);

/** Of a device: what `GET /api/devices` lists. */
export const summarySchema: JsonObject = closed(
	{
		...head,
		deviceId: string,
		lastSeenAt: { ...dateTime, description: "absent while it is connected" },
		chip: stringOrNull,
		firstSeenAt: dateTime,
		rssi: {
			type: ["integer", "null"],
			description: "dBm, within 4 of the latest report; null before it, as are ssid and volume",
		},
		ssid: stringOrNull,
		volume: { type: ["integer", "null"], minimum: 0, maximum: 100 },
		safeMode: { const: true, description: "absent where it does not run in safe mode" },
	},
	[...sometimes, "lastSeenAt", "safeMode"],
);

const requestId = {
	type: "string",
	maxLength: 64,
	description: "the requestId of the message, if it had one",
};

export const monitorFrames: Readonly<Record<string, Frame>> = {
	status_update: {
		description: `The sessions that changed, and the reason:\n${listOf(keysOf(reasonDescriptions), reasonDescriptions)}`,
		schema: closed(
			{
				type: { const: "status_update" },
				reason: { enum: Object.keys(reasonDescriptions) },
				timestamp: dateTime,
				remaining: {
					type: "integer",
					minimum: 0,
					description:
						"number of sessions of the snapshot that follow in other frames, 0 in the last of them; absent in a snapshot of one frame and in every other status_update",
				},
				sessions: { type: "array", items: schemaRef("session") },
			},
			["remaining"],
		),
		example: {
			type: "status_update",
			reason: "identified",
			timestamp,
			sessions: [
				{
					sessionId,
					deviceId,
					model: "DEV-1",
					connected: true,
					connectedAt: timestamp,
					lastSeenAt: timestamp,
					remoteAddress: "192.168.1.20",
					firmwareVersion: uplinkExamples.state_report.system.firmware_version,
					features: [...features],
					metadata: { otaStatus: "idle", otaPercent: null, otaVersion: null, otaReason: null },
					state: uplinkExamples.state_report,
				},
			],
		},
	},
	device_message: {
		description: "An uplink, unchanged.",
		schema: closed({
			type: { const: "device_message" },
			sessionId: { ...string, format: "uuid" },
			deviceId: stringOrNull,
			message: { oneOf: Object.keys(uplinkExamples).map(schemaRef) },
		}),
		example: { type: "device_message", sessionId, deviceId, message: uplinkExamples.ota_progress },
	},
	summary: {
		description:
			"Devices without their state, for a monitor that subscribed to the summary: all of them, then those in which anything has changed. A snapshot has `remaining` in each frame, and the reason snapshot in its first one, before which everything is forgotten; frames without `remaining` may come between.",
		schema: closed(
			{
				type: { const: "summary" },
				reason: { enum: ["snapshot", "changed"] },
				timestamp: dateTime,
				remaining: {
					type: "integer",
					minimum: 0,
					description: "number of devices of the snapshot that follow in other frames, 0 in the last of them",
				},
				devices: { type: "array", items: schemaRef("device_summary") },
				removed: {
					type: "array",
					items: string,
					description: "ids of devices that were removed; absent: none",
				},
			},
			["remaining", "removed"],
		),
		example: {
			type: "summary",
			reason: "changed",
			timestamp,
			devices: [
				{
					sessionId,
					deviceId,
					model: "DEV-1",
					connected: true,
					connectedAt: timestamp,
					remoteAddress: "192.168.1.20",
					firmwareVersion: uplinkExamples.state_report.system.firmware_version,
					features: [...features],
					metadata: { otaStatus: "idle", otaPercent: null, otaVersion: null, otaReason: null },
					name: "Lobby speaker",
					chip: "esp32s3",
					firstSeenAt: timestamp,
					rssi: -61,
					ssid: "workshop",
					volume: 40,
				},
			],
			removed: ["dev-1-a1b2c4"],
		},
	},
	rollout_update: {
		description:
			"How a roll-out stands, at most once a second each; only to a monitor that connects to /monitor?rollouts, which also gets each active one after its snapshot. Counts are devices by status.",
		schema: closed({
			type: { const: "rollout_update" },
			id: string,
			status: {
				enum: [...rolloutStatuses, "deleted"],
				description: "deleted: it was removed from the gateway",
			},
			pausedBecause: { enum: [...pauseReasons, null] },
			counts: closed(
				Object.fromEntries(Object.keys(noCounts).map((name) => [name, { type: "integer", minimum: 0 }])),
			),
			revision: { type: "integer", minimum: 1 },
		}),
		example: {
			type: "rollout_update",
			id: "autumn",
			status: "running",
			pausedBecause: null,
			counts: { ...noCounts, queued: 228, downloading: 4, soaking: 1, succeeded: 7, already_installed: 3 },
			revision: 2,
		},
	},
	cluster_update: {
		description:
			"How many gateways act as one, this one included; only where there are several, to a monitor that connects to /monitor?cluster: once after its snapshot, then at each change.",
		schema: closed({
			type: { const: "cluster_update" },
			gateways: { type: "integer", minimum: 1 },
			alone: {
				type: "boolean",
				description: "the others cannot be reached: their devices are shown as disconnected",
			},
		}),
		example: { type: "cluster_update", gateways: 3, alone: false },
	},
	ack: {
		description: "The command was accepted and is being sent to the device, if it is for one.",
		schema: closed(
			{
				type: { const: "ack" },
				requestId,
				command: { enum: [...Object.keys(monitorMessages), ...Object.keys(addedMessages)] },
				sessionId: { ...string, format: "uuid", description: "absent after subscribe" },
			},
			["requestId", "sessionId"],
		),
		example: { type: "ack", requestId: "2", command: "control_device", sessionId },
	},
	error: {
		description: `The message was not carried out:\n${listOf(keysOf(monitorErrorDescriptions), monitorErrorDescriptions)}`,
		schema: closed(
			{
				type: { const: "error" },
				requestId,
				code: { enum: Object.keys(monitorErrorDescriptions) },
				message: { ...string, description: "one sentence that says what to change" },
			},
			["requestId"],
		),
		example: {
			type: "error",
			requestId: "2",
			code: "target_offline",
			message: `${deviceId} is not connected; wait for its next status_update`,
		},
	},
};

/** The schema of an object with exactly these fields; all but the optional ones are required. */
export function closed(
	properties: Readonly<Record<string, Json>>,
	optional: readonly string[] = [],
): JsonObject {
	const required = Object.keys(properties).filter((name) => !optional.includes(name));
	return { type: "object", required, properties, additionalProperties: false };
}
