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
import { pick } from "../api/json.js";
import { otaStatuses } from "../api/statuses.js";
import { time } from "../api/time.js";
import type { Session } from "../sessions/device.js";
import { reset, version } from "../sessions/device-store.js";
import { type EndReason, endReasons } from "../sessions/view.js";

const count = integer(0, Number.MAX_SAFE_INTEGER);
const gatewayId = string(64);

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
export const heartbeat = object({
	gateway: gatewayId,
	/** Display name. */
	name: string(100),
	interest,
	/** Digest of its catalog; absent: unknown. */
	releases: optional(string(64)),
	/** Whether the gateway is stopping. */
	isLeaving: optional(boolean()),
});
export type Heartbeat = Infer<typeof heartbeat>;

const device = object({
	deviceId,
	model: optional(oneOf(...models)),
	chip: optional(oneOf(...chips)),
	firmwareVersion: optional(string(32)),
	securityVersion: optional(count),
	imageId: optional(imageId),
	macAddress: optional(string(17)),
	metadata: object({
		otaStatus: oneOf(...otaStatuses),
		otaPercent: optional(integer(0, 100)),
		otaVersion: optional(string(64)),
		otaReason: optional(string(1200)),
	}),
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
export const entry = object({
	gateway: gatewayId,
	sessionId: pattern(36, "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", "a UUID"),
	connected: boolean(),
	/** Reason for the end of the session. */
	end: optional(oneOf(...endReasons)),
	connectedAt: time,
	lastSeenAt: time,
	handshake: object({ features: list(string(64), 64), remoteAddress: string(64) }),
	device,
});
export type DirectoryEntry = Infer<typeof entry>;

/** Response to a JSON list of device ids on `gw.states.<gateway>`. */
export const states = object({
	/** Number of ids covered, from the first. */
	count,
	states: list(object({ entry, text: string(65_536) }), 5_000),
});

/** Parses a message. @throws {SyntaxError | RangeError} */
export function read<S extends Schema>(schema: S, text: string): Infer<S> {
	const value: unknown = JSON.parse(text);
	if (matches(schema, value)) return value;
	throw new RangeError(describeProblem(findProblem(schema, value)));
}

/** Encodes the `DirectoryEntry` of a session with a device as JSON. */
export function describeSession(gateway: string, session: Session, end?: EndReason): string {
	const described = Object(pick(entry, { ...session }));
	return JSON.stringify({ gateway, end, ...described }, (_name, value: unknown) => value ?? undefined);
}
