/** Takes in what another gateway reports of one of its sessions. */

import type { ChangeReason } from "../api/frames.js";
import { noUpdate } from "../api/update.js";
import { type Device, type DeviceLink, type Handshake, Session, sharedList } from "../sessions/device.js";
import type { Sessions } from "../sessions/sessions.js";
import { isEndReason } from "../sessions/view.js";
import type { Member } from "./members.js";
import type { DeviceFacts, SessionFacts } from "./messages.js";

/** To a device of another gateway; commands go there as a whole. */
export class MirrorLink implements DeviceLink {
	readonly isRemote = true;
	readonly member: Member;
	revision = -1;
	/** The list in which it came last. */
	list = 0;

	constructor(member: Member) {
		this.member = member;
	}

	get gateway(): string {
		return this.member.id;
	}

	isOpen(): boolean {
		return this.member.isUp;
	}

	send(): void {}
	close(): void {}
}

export interface MirrorOptions {
	readonly sessions: Sessions;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
}

/**
 * @param link leads to that gateway
 * @param reason why it is reported; undefined: only what has begun or ended is announced
 * @returns undefined if another session of the device stands
 */
export function mirror(
	{ sessions, monotonic }: MirrorOptions,
	told: SessionFacts,
	link: MirrorLink,
	reason?: ChangeReason,
): Session | undefined {
	const { sessionId, device: facts } = told;
	const named = sessions.find(sessionId);
	// The same session may be known from disk, without its gateway.
	const known = named && gatewayOf(named) === link.gateway ? named : undefined;
	const current = facts && sessions.devices.get(facts.deviceId)?.session;
	const stands = !current || current === known || isNewer(told, link.gateway, current);
	// A device that is away and not known here was forgotten meanwhile: the records say which devices there are.
	if (!stands || (!known && !current && !told.connected)) {
		if (known && known !== current) sessions.end(known, "replaced");
		return undefined;
	}
	const session = known ?? new Session(handshakeOf(told), link, told.connectedAt, sessionId);
	const wasConnected = known?.connected ?? false;
	session.epoch = told.epoch;
	session.lastSeenAt = told.lastSeenAt;
	session.connected = told.connected || wasConnected;
	const isNew = !known || (facts && !session.device) || (!wasConnected && told.connected);
	if (isNew) sessions.put(session, facts?.deviceId);
	if (facts && session.device) apply(session.device, facts, monotonic());
	if (wasConnected && !told.connected) sessions.end(session, isEndReason(reason) ? reason : "disconnected");
	else if (!wasConnected && told.connected) sessions.announce(session, "connected");
	else if (!known) sessions.announce(session, "identified");
	else if (reason && !isEndReason(reason)) sessions.announce(session, reason);
	return session;
}

function apply(device: Device, facts: DeviceFacts, monotonic: number): void {
	device.model = facts.model;
	device.chip = facts.chip;
	device.firmwareVersion = facts.firmwareVersion;
	device.securityVersion = facts.securityVersion;
	device.metadata = facts.metadata ?? noUpdate;
	device.firstSeenAt = Math.min(device.firstSeenAt, facts.firstSeenAt);
	device.lastReportAt = facts.lastReportAt;
	device.uptimeSeconds = facts.uptimeSeconds;
	device.versions = facts.versions;
	device.resets = facts.resets;
	// Shared where it is empty: a list of each device would take memory.
	if (facts.crashes.length > 0 || device.crashes.length > 0) device.crashes = facts.crashes;
	device.vitals = facts.vitals;
	device.setReported(facts.hasReported, monotonic);
}

function gatewayOf({ link }: Session): string | undefined {
	return link instanceof MirrorLink ? link.gateway : undefined;
}

/** As far as another gateway needs it. Without a spread, for which V8 makes a hidden class of each object. */
function handshakeOf({ handshake, device }: SessionFacts): Handshake {
	return {
		deviceId: device?.deviceId,
		isBound: false,
		model: handshake.model,
		chip: handshake.chip,
		features: sharedList(handshake.features),
		remoteAddress: handshake.remoteAddress,
		baseUrl: "",
	};
}

/** Of a device's sessions at two gateways: no clock is trusted, and one that has ended is never the newer one. */
function isNewer(told: SessionFacts, gateway: string, current: Session): boolean {
	if (told.connected !== current.connected && gateway !== gatewayOf(current)) return told.connected;
	const difference = told.epoch - current.epoch || told.connectedAt - current.connectedAt;
	return difference === 0 ? told.sessionId > current.sessionId : difference > 0;
}
