/**
 * What gateways that act as one report to each other, as JSON: each message is defined once, and read by its schema, since anyone on the
 * bus may send anything. Null is left out.
 */

import { chips, crashKinds, deviceId } from "../../device/protocol/messages.js";
import {
	boolean,
	describeProblem,
	findProblem,
	float,
	type Infer,
	integer,
	isRecord,
	list,
	matches,
	models,
	object,
	oneOf,
	optional,
	type Schema,
	string,
} from "../../device/protocol/schema.js";
import { otaStatuses } from "../api/statuses.js";
import { noUpdate } from "../api/update.js";
import type { Device, Session } from "../sessions/device.js";
import { reset, version } from "../sessions/device-store.js";
import { endReasons } from "../sessions/view.js";
import { time } from "../storage/time.js";

const count = integer(0, Number.MAX_SAFE_INTEGER);
const gatewayId = string(64);
const board = { model: optional(oneOf(...models)), chip: optional(oneOf(...chips)) };

/** What the monitors of a gateway need of the devices of others. */
const interest = object({
	/** A monitor that has not subscribed gets all reports. */
	all: boolean(),
	/** A monitor has the summary. */
	summary: boolean(),
	/** Ids of devices whose reports are needed. */
	devices: list(deviceId, 5_000),
});
export type Interest = Infer<typeof interest>;

/** On `gw.hb.<gateway>`: it is there. */
const beat = object({
	gateway: gatewayId,
	/** For people. */
	name: string(100),
	/** Number of its messages on `gw.session.*` until now: another one may have missed some. */
	told: count,
	interest,
	/** Digest of its catalog; absent: not known yet. */
	releases: optional(string(64)),
	/** It stops. */
	isLeaving: optional(boolean()),
});
export type Beat = Infer<typeof beat>;

const device = object({
	deviceId,
	...board,
	firmwareVersion: optional(string(32)),
	securityVersion: optional(count),
	/** Absent: there was no update. */
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
		safeMode: optional(boolean()),
	}),
	firstSeenAt: time,
	lastReportAt: time,
	versions: list(version, 10),
	resets: list(reset, 10),
	crashes: list(object({ id: string(32), kind: oneOf(...crashKinds), version: string(32), at: time }), 20),
	hasReported: boolean(),
});
export type DeviceFacts = Infer<typeof device>;

/** A session of the gateway that reports it. */
const session = object({
	sessionId: string(64),
	epoch: count,
	connected: boolean(),
	connectedAt: time,
	lastSeenAt: time,
	/** Grows with each message about it. */
	revision: count,
	/** The latest report, where it was asked for. */
	state: optional(string(65_536)),
	handshake: object({ ...board, features: list(string(64), 64), remoteAddress: string(64) }),
	device: optional(device),
});
export type ToldSession = Infer<typeof session>;

/** On `gw.session.<device>`. */
const news = object({
	gateway: gatewayId,
	/** Of its messages on `gw.session.*`; from 1. */
	number: count,
	/** `report`: what a report has changed. */
	reason: oneOf("report", "snapshot", "connected", "identified", "ota", "crash", "labelled", ...endReasons),
	session,
});
export type News = Infer<typeof news>;

/** On `gw.list.<gateway>`: asks for its sessions. */
export interface ListRequest {
	/** Where the previous piece ended. */
	readonly after?: number;
	/** Only those of these devices. */
	readonly only?: readonly string[];
	/** Only those of which a report has changed what is not told yet. */
	readonly changed?: boolean;
	/** Whose latest reports are needed too. */
	readonly reports?: "all" | readonly string[];
}

const piece = object({
	/** As in its beats, before the list was made. */
	told: count,
	/** Undefined: this was the last piece. */
	next: optional(count),
});
export interface ListPiece extends Infer<typeof piece> {
	readonly sessions: readonly ToldSession[];
}

/** @throws {SyntaxError | RangeError} */
export function readBeat(text: string): Beat {
	return required(beat, JSON.parse(text));
}

/** @throws {SyntaxError | RangeError} */
export function readNews(text: string): News {
	return required(news, JSON.parse(text));
}

/** Without sessions that cannot be read. @throws {SyntaxError | RangeError} */
export function readPiece(text: string, onError: (error: unknown) => void): ListPiece {
	const value: unknown = JSON.parse(text);
	const all: unknown = isRecord(value) ? value.sessions : undefined;
	const sessions = (Array.isArray(all) ? all : []).flatMap((each: unknown) => {
		if (matches(session, each)) return [each];
		onError(new RangeError(describeProblem(findProblem(session, each))));
		return [];
	});
	return { ...required(piece, value), sessions };
}

/** @returns JSON that a `ToldSession` is read from */
export function describeSession(each: Session, revision: number, state?: string): string {
	const { sessionId, epoch, connected, connectedAt, lastSeenAt, handshake } = each;
	const { model, chip, features, remoteAddress } = handshake;
	const facts = each.device && factsOf(each.device);
	const head = { sessionId, epoch, connected, connectedAt, lastSeenAt, revision, state };
	const told = { ...head, handshake: { model, chip, features, remoteAddress }, device: facts };
	return JSON.stringify(told, (_name, value: unknown) => value ?? undefined);
}

function factsOf(each: Device) {
	const { deviceId, model, chip, firmwareVersion, securityVersion, firstSeenAt, lastReportAt } = each;
	const { uptimeSeconds, versions, resets, crashes, vitals, hasReported } = each;
	const metadata = each.metadata === noUpdate ? undefined : each.metadata;
	const what = { deviceId, model, chip, firmwareVersion, securityVersion, metadata, uptimeSeconds, vitals };
	return { ...what, firstSeenAt, lastReportAt, versions, resets, crashes, hasReported };
}

function required<S extends Schema>(schema: S, value: unknown): Infer<S> {
	if (matches(schema, value)) return value;
	throw new RangeError(describeProblem(findProblem(schema, value)));
}
