/**
 * The session record as monitors are sent it. A state report's text is spliced in as it came: building it again would
 * cost each device's report a second time, and a report that nests deeply could overflow the stack.
 */

import type { Session } from "./device.js";

/** Why monitors are told of a session; `snapshot` is told of all of them. */
export type ChangeReason =
	| "snapshot"
	| "connected"
	| "identified"
	| "disconnected"
	| "replaced"
	| "boot"
	| "ota";

const noUpdate = { otaStatus: "idle", otaPercent: null, otaVersion: null, otaReason: null };

/** `{"type":"status_update","reason":…,"timestamp":…,"sessions":[…]}` @param now milliseconds since 1970 */
export function statusUpdateText(reason: ChangeReason, sessions: Iterable<Session>, now: number): string {
	const head = JSON.stringify({ type: "status_update", reason, timestamp: new Date(now).toISOString() });
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
		connectedAt: new Date(session.connectedAt).toISOString(),
		lastSeenAt: new Date(session.lastSeenAt).toISOString(),
		remoteAddress: introduction.remoteAddress,
		firmwareVersion: device?.firmwareVersion ?? null,
		metadata: device?.metadata ?? noUpdate,
	};
}

function sessionText(session: Session): string {
	const head = JSON.stringify(sessionHead(session));
	return `${head.slice(0, -1)},"state":${session.device?.stateText ?? "null"}}`;
}
