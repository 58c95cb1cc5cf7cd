/**
 * JSON messages between gateways of a cluster, each defined by a schema. All are validated, as anyone on the
 * bus may send anything. Null values are omitted.
 */

import { chips, deviceId, imageId } from "../../device/protocol/messages.js";
import {
	boolean,
	describeProblem,
	findProblem,
	float,
	type Infer,
	integer,
	list,
	matches,
	models,
	object,
	oneOf,
	optional,
	pattern,
	type Schema,
	string,
} from "../../device/protocol/schema.js";
import { otaStatuses } from "../api/statuses.js";
import { time } from "../api/time.js";
import { noUpdate } from "../api/update.js";
import type { Device, Session } from "../sessions/device.js";
import { reset, version } from "../sessions/device-store.js";
import { type EndReason, endReasons } from "../sessions/view.js";
import type { Outcome } from "../sockets/monitor-commands.js";

const count = integer(0, Number.MAX_SAFE_INTEGER);
const gatewayId = string(64);
const board = { model: optional(oneOf(...models)), chip: optional(oneOf(...chips)) };

/** Devices of other gateways that the monitors of a gateway are interested in. */
const interest = object({
	/** Whether a monitor without a subscription needs all reports. */
	all: boolean(),
	/** Whether a monitor has the summary. */
	summary: boolean(),
	/** Ids of devices whose reports are needed. */
	devices: list(deviceId, 5_000),
});
export type Interest = Infer<typeof interest>;

/** Heartbeat, on `gw.hb.<gateway>`. */
const beat = object({
	gateway: gatewayId,
	/** Display name. */
	name: string(100),
	interest,
	/** Digest of its catalog; absent: unknown. */
	releases: optional(string(64)),
	/** Whether the gateway is stopping. */
	isLeaving: optional(boolean()),
});
export type Heartbeat = Infer<typeof beat>;

const device = object({
	deviceId,
	...board,
	firmwareVersion: optional(string(32)),
	securityVersion: optional(count),
	imageId: optional(imageId),
	macAddress: optional(string(17)),
	/** Absent before the first update. */
	metadata: optional(
		object({
			otaStatus: oneOf(...otaStatuses),
			otaPercent: optional(integer(0, 100)),
			otaVersion: optional(string(64)),
			otaReason: optional(string(1200)),
		}),
	),
	uptimeSeconds: optional(float(0, Number.MAX_SAFE_INTEGER)),
	vitals: object({
		rssi: optional(float(-1000, 1000)),
		ssid: optional(string(256)),
		volume: optional(float(0, 100)),
		unmutedVolume: optional(float(1, 100)),
		safeMode: optional(boolean()),
		fault: optional(string(128)),
	}),
	firstSeenAt: time,
	lastReportAt: time,
	settingsKeptAt: optional(time),
	versions: list(version, 10),
	resets: list(reset, 10),
	hasReported: boolean(),
});
export type DeviceFacts = Infer<typeof device>;

/** Directory entry of a device: its latest session at any gateway. */
const entry = object({
	gateway: gatewayId,
	sessionId: pattern(36, "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", "a UUID"),
	connected: boolean(),
	/** Reason for the end of the session. */
	end: optional(oneOf(...endReasons)),
	connectedAt: time,
	lastSeenAt: time,
	handshake: object({ ...board, features: list(string(64), 64), remoteAddress: string(64) }),
	device,
});
export type DirectoryEntry = Infer<typeof entry>;

/** Response to a JSON list of device ids on `gw.states.<gateway>`. */
const states = object({
	/** Number of ids covered, from the first. */
	count,
	states: list(object({ entry, text: string(65_536) }), 5_000),
});
export type States = Infer<typeof states>;

/** @throws {SyntaxError | RangeError} */
export function readHeartbeat(text: string): Heartbeat {
	return required(beat, JSON.parse(text));
}

/** @throws {SyntaxError | RangeError} */
export function readEntry(text: string): DirectoryEntry {
	return required(entry, JSON.parse(text));
}

/** @throws {SyntaxError | RangeError} */
export function readStates(text: string): States {
	return required(states, JSON.parse(text));
}

/** Encodes a `DirectoryEntry` as JSON. */
export function describeSession(gateway: string, session: Session, device: Device, end?: EndReason): string {
	const { sessionId, connected, connectedAt, lastSeenAt, handshake } = session;
	const { model, chip, features, remoteAddress } = handshake;
	const head = { gateway, sessionId, connected, end, connectedAt, lastSeenAt };
	const described = { ...head, handshake: { model, chip, features, remoteAddress }, device: factsOf(device) };
	return JSON.stringify(described, (_name, value: unknown) => value ?? undefined);
}

function factsOf(device: Device) {
	const { deviceId, model, chip, firmwareVersion, securityVersion, firstSeenAt, lastReportAt } = device;
	const { settingsKeptAt, uptimeSeconds, imageId, macAddress, versions, resets, vitals, hasReported } =
		device;
	const metadata = device.metadata === noUpdate ? undefined : device.metadata;
	const what = {
		deviceId,
		model,
		chip,
		firmwareVersion,
		securityVersion,
		imageId,
		macAddress,
		metadata,
		uptimeSeconds,
		vitals,
	};
	const when = { firstSeenAt, lastReportAt, settingsKeptAt: settingsKeptAt || undefined };
	return { ...what, ...when, versions, resets, hasReported };
}

function required<S extends Schema>(schema: S, value: unknown): Infer<S> {
	if (matches(schema, value)) return value;
	throw new RangeError(describeProblem(findProblem(schema, value)));
}

/** Encodes the outcome of a monitor's message for another gateway. */
export function outcomeText({ rejection, ...outcome }: Outcome): string {
	return JSON.stringify({ ...outcome, rejection });
}

/** Decodes an outcome encoded by `outcomeText`. */
export function readOutcome(text: string): Outcome {
	const { rejection, ...outcome } = JSON.parse(text);
	return { ...outcome, rejection };
}
