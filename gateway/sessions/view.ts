/**
 * Session records as JSON for monitors. State reports are inserted as received, since serializing a deeply nested one
 * could overflow the stack.
 */

import type { ChangeReason, FrameOf } from "../api/frames.js";
import type { KnownDevice, SessionRecord } from "../api/session.js";
import { noUpdate } from "../api/update.js";
import { socketLimits } from "../limits.js";
import type { Device, Session } from "./device.js";

export const endReasons = ["disconnected", "replaced", "boot"] as const satisfies readonly ChangeReason[];
export type EndReason = (typeof endReasons)[number];

export function isEndReason(reason: string | undefined): reason is EndReason {
	return endReasons.some((known) => known === reason);
}

/** Returns a `status_update` frame of one session. @param now milliseconds since 1970 */
export function statusUpdateText(reason: ChangeReason, session: Session, now: number): string {
	return statusUpdateOf({ reason, timestamp: isoTime(now) }, [sessionText(session)]);
}

/** Length above which no further item is added to a frame. A character has up to 3 bytes, the last item up to 64 KiB. */
export const frameCharacters = socketLimits.maxMonitorFrameBytes / 4;

/**
 * Yields all sessions in several frames, since a single one could exceed V8's maximum string length. The first one has
 * the reason `snapshot`, later ones `identified`, or `connected` for sessions that are not identified. `remaining` is
 * the number of sessions in later frames.
 * @param now milliseconds since 1970
 */
export function* snapshotTexts(
	sessions: { list(): Iterable<Session>; find(sessionId: string): Session | undefined },
	now: () => number,
): Generator<string> {
	const listed = [...sessions.list()];
	const pending = [...listed.filter(({ device }) => device), ...listed.filter(({ device }) => !device)];
	let reason: ChangeReason = "snapshot";
	let next = 0;
	do {
		const texts: string[] = [];
		for (let size = 0; size < frameCharacters && next < pending.length; next++) {
			const session = pending[next];
			if (!session || sessions.find(session.sessionId) !== session) continue;
			if (reason !== "snapshot" && reason !== reasonOf(session) && texts.length > 0) break;
			if (reason !== "snapshot") reason = reasonOf(session);
			const text = sessionText(session);
			texts.push(text);
			size += text.length;
		}
		const remaining = pending.length - next;
		const isWhole = reason === "snapshot" && remaining === 0;
		yield statusUpdateOf({ reason, timestamp: isoTime(now()), ...(!isWhole && { remaining }) }, texts);
		reason = "identified";
	} while (next < pending.length);
}

function reasonOf({ device }: Session): ChangeReason {
	return device ? "identified" : "connected";
}

function statusUpdateOf(
	fields: Omit<FrameOf<"status_update">, "type" | "sessions">,
	sessionTexts: readonly string[],
): string {
	return textWith({ type: "status_update", ...fields }, "sessions", `[${sessionTexts.join(",")}]`);
}

/** Returns `{<head>,"<name>":<text>}`. @param text JSON */
export function textWith(head: object, name: string, text: string): string {
	return `${JSON.stringify(head).slice(0, -1)},"${name}":${text}}`;
}

/** Returns a `device_message` frame up to the uplink, which is followed by `}`. */
export function deviceMessageHead({ sessionId, device }: Session): string {
	const deviceId = JSON.stringify(device?.deviceId ?? null);
	return `{"type":"device_message","sessionId":"${sessionId}","deviceId":${deviceId},"message":`;
}

/** Returns the session record without its state. */
export function sessionHead(session: Session): Omit<SessionRecord, "state"> {
	const { device, handshake } = session;
	return {
		sessionId: session.sessionId,
		deviceId: device?.deviceId ?? null,
		model: device?.model ?? handshake.model ?? null,
		connected: session.connected,
		connectedAt: isoTime(session.connectedAt),
		lastSeenAt: isoTime(session.lastSeenAt),
		remoteAddress: handshake.remoteAddress,
		firmwareVersion: device?.firmwareVersion ?? null,
		features: handshake.features,
		metadata: device?.metadata ?? noUpdate,
		...device?.describeMore?.(),
		...device?.label,
	};
}

/** Returns a known device without its state. */
export function deviceHead(device: Device): KnownDevice {
	const { session, deviceId, chip, firstSeenAt, vitals } = device;
	const head = { ...sessionHead(session), deviceId, chip: chip ?? null };
	return { ...head, firstSeenAt: isoTime(firstSeenAt), ...vitals };
}

function sessionText(session: Session): string {
	return textWithState(sessionHead(session), session.device);
}

/** Returns `{<head>,"state":<latest report>}`. */
export function textWithState(head: object, device: Device | undefined): string {
	return textWith(head, "state", device?.state.text ?? "null");
}

/** @param ms milliseconds since 1970 @returns ISO 8601 in UTC */
export function isoTime(ms: number): string {
	return new Date(ms).toISOString();
}
