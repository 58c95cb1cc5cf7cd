/** What the gateway sends to monitors, and what it answers them, as JSON Schema. */

import { models } from "../../device/protocol/schema.js";
import { otaStatuses } from "../../gateway/sessions/device.js";
import { monitorMessages } from "../../gateway/sockets/monitor-messages.js";
import { listOf, monitorErrorWords, reasonWords } from "./descriptions.js";
import { deviceId, sessionId, timestamp, uplinkExamples } from "./examples.js";
import type { Json, JsonObject } from "./json-schema.js";

export interface Frame {
	readonly words: string;
	readonly schema: JsonObject;
	readonly example: JsonObject;
}

const text = { type: "string" };
const textOrNull = { type: ["string", "null"] };
const moment = { type: "string", format: "date-time" };

/** A reference within the same document. */
export function schemaRef(name: string): JsonObject {
	return { $ref: `#/components/schemas/${name}` };
}

export const sessionSchema: JsonObject = closed({
	sessionId: { ...text, format: "uuid" },
	deviceId: { ...textOrNull, description: "null until the device is named" },
	model: { enum: [...models, null] },
	connected: { type: "boolean" },
	connectedAt: moment,
	lastSeenAt: moment,
	remoteAddress: text,
	firmwareVersion: { ...textOrNull, description: "null before the first state_report" },
	metadata: closed({
		otaStatus: {
			enum: [...otaStatuses],
			description: "updated may become rolled_back for 5 minutes: the new firmware has to prove itself",
		},
		otaPercent: { type: ["integer", "null"], minimum: 0, maximum: 100 },
		otaVersion: textOrNull,
		otaReason: { ...textOrNull, description: "why it failed or was rolled back" },
	}),
	state: { anyOf: [schemaRef("state_report"), { type: "null" }] },
});

const requestId = { type: "string", maxLength: 64, description: "that of the message, where it had one" };

export const monitorFrames: Readonly<Record<string, Frame>> = {
	status_update: {
		words: `Sessions that changed, with the reason:\n${listOf(keysOf(reasonWords), reasonWords)}`,
		schema: closed(
			{
				type: { const: "status_update" },
				reason: { enum: Object.keys(reasonWords) },
				timestamp: moment,
				remaining: {
					type: "integer",
					minimum: 0,
					description:
						"sessions of the snapshot that follow in further frames, 0 in the last of them; absent in a snapshot of one frame and in any other change",
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
					metadata: { otaStatus: "idle", otaPercent: null, otaVersion: null, otaReason: null },
					state: uplinkExamples.state_report,
				},
			],
		},
	},
	device_message: {
		words: "An uplink, as it came.",
		schema: closed({
			type: { const: "device_message" },
			sessionId: { ...text, format: "uuid" },
			deviceId: textOrNull,
			message: { oneOf: Object.keys(uplinkExamples).map(schemaRef) },
		}),
		example: { type: "device_message", sessionId, deviceId, message: uplinkExamples.ota_progress },
	},
	ack: {
		words: "The command is on its way.",
		schema: closed(
			{
				type: { const: "ack" },
				requestId,
				command: { enum: Object.keys(monitorMessages) },
				sessionId: { ...text, format: "uuid" },
			},
			["requestId"],
		),
		example: { type: "ack", requestId: "2", command: "control_device", sessionId },
	},
	error: {
		words: `The message was not carried out:\n${listOf(keysOf(monitorErrorWords), monitorErrorWords)}`,
		schema: closed(
			{
				type: { const: "error" },
				requestId,
				code: { enum: Object.keys(monitorErrorWords) },
				message: { ...text, description: "one sentence that says what to change" },
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

export function keysOf<K extends string>(record: Readonly<Record<K, unknown>>): readonly K[] {
	const keys: K[] = [];
	for (const key in record) keys.push(key);
	return keys;
}

/** An object of these fields and no others, all there but the optional ones. */
export function closed(
	properties: Readonly<Record<string, Json>>,
	optional: readonly string[] = [],
): JsonObject {
	const required = Object.keys(properties).filter((name) => !optional.includes(name));
	return { type: "object", required, properties, additionalProperties: false };
}
