/**
 * The session record as monitors are sent it. A state report's text is spliced in as it came: building it again would
 * cost each device's report a second time, and a report that nests deeply could overflow the stack.
 */

import { type Device, noUpdate, type Session } from "./device.js";
import type { Sessions } from "./sessions.js";

/** How a session ends. */
export type EndReason = "disconnected" | "replaced" | "boot";
/** Why monitors are told of a session; `snapshot` begins the list of all of them. */
export type ChangeReason = "snapshot" | "connected" | "identified" | EndReason | "ota";

/** `{"type":"status_update","reason":…,"timestamp":…,"sessions":[…]}` @param now milliseconds since 1970 */
export function statusUpdateText(reason: ChangeReason, session: Session, now: number): string {
	return frameText({ reason, timestamp: isoTime(now) }, [sessionText(session)]);
}

/** A snapshot's frame is full at this many characters: even at 3 bytes each they are below a slow monitor's limit. */
const frameCharacters = 256 * 1024;

/**
 * The snapshot of all sessions. Those that fit are in the first frame, reason `snapshot`. The others follow as `identified`,
 * or as `connected` where they have no name yet, each as it is when its frame is asked for; `remaining` counts those that
 * are still to come. One frame for all would exceed V8's longest string in a fleet that reports much.
 *
 * @param now milliseconds since 1970
 */
export function* snapshotTexts(
	sessions: Pick<Sessions, "list" | "find">,
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
		yield frameText({ reason, timestamp: isoTime(now()), remaining: isWhole ? undefined : remaining }, texts);
		reason = "identified";
	} while (next < pending.length);
}

function reasonOf({ device }: Session): ChangeReason {
	return device ? "identified" : "connected";
}

interface FrameHead {
	readonly reason: ChangeReason;
	readonly timestamp: string;
	readonly remaining?: number | undefined;
}

function frameText(fields: FrameHead, sessionTexts: readonly string[]): string {
	const head = JSON.stringify({ type: "status_update", ...fields });
	return `${head.slice(0, -1)},"sessions":[${sessionTexts.join(",")}]}`;
}

/** `{"type":"device_message","sessionId":…,"deviceId":…,"message":<uplinkText>}` */
export function deviceMessageText(session: Session, uplinkText: string): string {
	const deviceId = JSON.stringify(session.device?.deviceId ?? null);
	return `{"type":"device_message","sessionId":"${session.sessionId}","deviceId":${deviceId},"message":${uplinkText}}`;
}

/** The session record without its state. */
export function sessionHead(session: Session) {
	const { device, introduction } = session;
	return {
		sessionId: session.sessionId,
		deviceId: device?.deviceId ?? null,
		model: device?.model ?? introduction.model ?? null,
		connected: session.connected,
		connectedAt: isoTime(session.connectedAt),
		lastSeenAt: isoTime(session.lastSeenAt),
		remoteAddress: introduction.remoteAddress,
		firmwareVersion: device?.firmwareVersion ?? null,
		metadata: device?.metadata ?? noUpdate,
	};
}

function sessionText(session: Session): string {
	return textWithState(sessionHead(session), session.device);
}

/** `{<head>,"state":<the device's latest report>}` */
export function textWithState(head: object, device: Device | undefined): string {
	return `${JSON.stringify(head).slice(0, -1)},"state":${device?.state.text ?? "null"}}`;
}

/** @param ms since 1970 */
export function isoTime(ms: number): string {
	return new Date(ms).toISOString();
}
