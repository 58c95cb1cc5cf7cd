/**
 * What gateways that act as one tell each other, as JSON. Fields may be added: gateways of two versions run side by
 * side while one after the other is replaced.
 */

import type { ChangeReason } from "../api/frames.js";
import { noUpdate } from "../api/update.js";
import type { Device, Session } from "../sessions/device.js";

/** What the monitors of a gateway need of the devices of others. */
export interface Interest {
	/** A monitor that has not subscribed gets all reports. */
	readonly all: boolean;
	/** A monitor has the summary. */
	readonly summary: boolean;
	/** Ids of devices whose reports are needed. */
	readonly devices: readonly string[];
}

/** On `gw.hb.<gateway>`: it is there. */
export interface Beat {
	readonly gateway: string;
	/** For people. */
	readonly name: string;
	/** Number of its messages on `gw.session.*` until now: another one may have missed some. */
	readonly told: number;
	readonly interest: Interest;
	/** Digest of its catalog; absent: not known yet. */
	readonly releases?: string;
	/** It stops. */
	readonly isLeaving?: boolean;
}

export type DeviceFacts = ReturnType<typeof deviceFactsOf>;
export type SessionFacts = Readonly<ReturnType<typeof factsOf>>;

export function factsOf({
	sessionId,
	epoch,
	connected,
	connectedAt,
	lastSeenAt,
	device,
	handshake: head,
}: Session) {
	const { model, chip, features, remoteAddress } = head;
	const handshake = { model, chip, features, remoteAddress };
	const when = { connectedAt, lastSeenAt };
	return { sessionId, epoch, connected, ...when, handshake, device: device && deviceFactsOf(device) };
}

function deviceFactsOf(device: Device) {
	const { deviceId, model, chip, firmwareVersion, securityVersion, firstSeenAt, lastReportAt } = device;
	const { uptimeSeconds, versions, resets, crashes, vitals, hasReported } = device;
	const metadata = device.metadata === noUpdate ? undefined : device.metadata;
	const what = { deviceId, model, chip, firmwareVersion, securityVersion, metadata, uptimeSeconds, vitals };
	return { ...what, firstSeenAt, lastReportAt, versions, resets, crashes, hasReported };
}

/** A session of the gateway that tells of it. */
export interface ToldSession extends SessionFacts {
	/** Grows with each message about it. */
	readonly revision: number;
	/** The latest report, where it was asked for. */
	readonly state?: string | undefined;
}

/** On `gw.session.<device>`. */
export interface News {
	readonly gateway: string;
	/** Of its messages on `gw.session.*`; from 1. */
	readonly number: number;
	/** `report`: what a report has changed. */
	readonly reason: ChangeReason | "report";
	readonly session: ToldSession;
}

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

export interface ListPiece {
	/** As in its beats, before the list was made. */
	readonly told: number;
	readonly sessions: readonly ToldSession[];
	/** Undefined: this was the last piece. */
	readonly next?: number;
}
