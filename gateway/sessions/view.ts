/**
 * The session record as monitors are sent it. A state report's text is spliced in as it came: building it again would
 * cost each device's report a second time, and a report that nests deeply could overflow the stack.
 */

import { type Device, noUpdate, type Session } from "./device.js";

/** How a session ends. */
export type EndReason = "disconnected" | "replaced" | "boot";
/** Why monitors are told of a session; `snapshot` is told of all of them. */
export type ChangeReason = "snapshot" | "connected" | "identified" | EndReason | "ota";

/** `{"type":"status_update","reason":…,"timestamp":…,"sessions":[…]}` @param now milliseconds since 1970 */
export function statusUpdateText(reason: ChangeReason, sessions: Iterable<Session>, now: number): string {
	const head = JSON.stringify({ type: "status_update", reason, timestamp: isoTime(now) });
	return `${head.slice(0, -1)},"sessions":[${Array.from(sessions, sessionText).join(",")}]}`;
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
