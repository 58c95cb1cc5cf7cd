/**
 * Reads what other gateways say. One of another version may leave out or change fields, and anyone on the bus may send
 * anything: what is unknown is left out, and what cannot be used without is an error at the message that lacks it.
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
import { validItems } from "../json.js";
import { featuresOf, reset, version } from "../sessions/device-store.js";
import { endReasons } from "../sessions/view.js";
import { time } from "../storage/time.js";
import type { Beat, DeviceFacts, Interest, ListPiece, News, ToldSession } from "./messages.js";

const count = integer(0, Number.MAX_SAFE_INTEGER);
const gatewayId = string(64);
const nameCharacters = 100;
const beat = object({
	gateway: gatewayId,
	told: count,
	releases: optional(string(64)),
	isLeaving: optional(boolean()),
});
const news = object({ gateway: gatewayId, number: count });
const piece = object({ told: count, next: optional(count) });
const session = object({
	sessionId: string(64),
	epoch: count,
	connected: boolean(),
	connectedAt: time,
	lastSeenAt: time,
	revision: count,
	state: optional(string(65_536)),
	handshake: object({ remoteAddress: string(64) }),
});
const device = object({
	deviceId,
	firstSeenAt: time,
	lastReportAt: time,
	securityVersion: optional(count),
	uptimeSeconds: optional(float(0, Number.MAX_SAFE_INTEGER)),
	hasReported: optional(boolean()),
});
const crashHead = object({ id: string(32), kind: oneOf(...crashKinds), version: string(32), at: time });
const reasons = ["snapshot", "connected", "identified", "ota", "crash", "labelled", ...endReasons] as const;

/** @throws {SyntaxError | RangeError} */
export function readBeat(text: string): Beat {
	const value: unknown = JSON.parse(text);
	const { gateway, told, releases, isLeaving } = required(beat, value);
	const { interest, name } = fieldsOf(value);
	const head = { gateway, name: textOf(name)?.slice(0, nameCharacters) ?? gateway, told };
	return {
		...head,
		interest: interestOf(interest),
		...(releases && { releases }),
		...(isLeaving && { isLeaving }),
	};
}

/** @throws {SyntaxError | RangeError} */
export function readNews(text: string): News {
	const value: unknown = JSON.parse(text);
	const { gateway, number } = required(news, value);
	const { reason, session: told } = fieldsOf(value);
	return {
		gateway,
		number,
		reason: reasons.find((each) => each === reason) ?? "report",
		session: sessionOf(told),
	};
}

/** Without sessions that cannot be read. @throws {SyntaxError | RangeError} */
export function readPiece(text: string, onError: (error: unknown) => void): ListPiece {
	const value: unknown = JSON.parse(text);
	const { told, next } = required(piece, value);
	const sessions = arrayOf(fieldsOf(value).sessions).flatMap((each) => {
		try {
			return [sessionOf(each)];
		} catch (error) {
			onError(error);
			return [];
		}
	});
	return { told, sessions, ...(next !== undefined && { next }) };
}

function interestOf(value: unknown): Interest {
	const { all, summary, devices } = fieldsOf(value);
	return { all: all === true, summary: summary === true, devices: validItems(deviceId, devices) };
}

function sessionOf(value: unknown): ToldSession {
	const { sessionId, epoch, connected, connectedAt, lastSeenAt, revision, state, handshake } = required(
		session,
		value,
	);
	const { remoteAddress } = handshake;
	const { device: told, handshake: head } = fieldsOf(value);
	const { features } = fieldsOf(head);
	return {
		...{ sessionId, epoch, connected, connectedAt, lastSeenAt },
		handshake: { ...boardOf(head), features: featuresOf(features), remoteAddress },
		device: told === undefined ? undefined : deviceOf(told),
		revision,
		state,
	};
}

function deviceOf(value: unknown): DeviceFacts {
	const facts = required(device, value);
	const { deviceId, firstSeenAt, lastReportAt, securityVersion, uptimeSeconds } = facts;
	const { hasReported = false } = facts;
	const { firmwareVersion, metadata, vitals, versions, resets, crashes } = fieldsOf(value);
	return {
		deviceId,
		...boardOf(value),
		firmwareVersion: textOf(firmwareVersion),
		securityVersion,
		metadata: metadata === undefined ? undefined : updateOf(metadata),
		uptimeSeconds,
		vitals: vitalsOf(vitals),
		firstSeenAt,
		lastReportAt,
		versions: validItems(version, versions),
		resets: validItems(reset, resets),
		crashes: validItems(crashHead, crashes),
		hasReported,
	};
}

function boardOf(value: unknown) {
	const { model, chip } = fieldsOf(value);
	return { model: models.find((each) => each === model), chip: chips.find((each) => each === chip) };
}

function updateOf(value: unknown): typeof noUpdate {
	const { otaStatus: given, otaPercent, otaVersion, otaReason } = fieldsOf(value);
	const otaStatus = otaStatuses.find((each) => each === given);
	if (!otaStatus) return noUpdate;
	return {
		otaStatus,
		otaPercent: numberOf(otaPercent),
		otaVersion: textOf(otaVersion),
		otaReason: textOf(otaReason),
	};
}

function vitalsOf(value: unknown): DeviceFacts["vitals"] {
	const { rssi, ssid, volume, safeMode } = fieldsOf(value);
	const heard = { rssi: numberOf(rssi), ssid: textOf(ssid), volume: numberOf(volume) };
	return safeMode === true ? { ...heard, safeMode } : heard;
}

function required<S extends Schema>(schema: S, value: unknown): Infer<S> {
	if (matches(schema, value)) return value;
	throw new RangeError(describeProblem(findProblem(schema, value)));
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
	return isRecord(value) ? value : {};
}

function arrayOf(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string | null {
	return typeof value === "string" ? value : null;
}

function numberOf(value: unknown): number | null {
	return typeof value === "number" && Number.isFinite(value) ? value : null;
}
