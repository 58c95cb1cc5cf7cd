/** Sessions of other gateways from the directory. Those of a gateway that is down count as disconnected. */

import { isDeepStrictEqual } from "node:util";
import { Session } from "../sessions/device.js";
import { featuresOf } from "../sessions/device-store.js";
import type { Member } from "./members.js";
import type { DirectoryEntry } from "./messages.js";
import { applyFacts, gatewayOf, MirrorLink } from "./mirror-link.js";
import type { RelayedUplink } from "./relay.js";
import type { Reports, ReportsOptions } from "./reports.js";

/** Maximum number of changes per turn of the event loop. */
const changedAtOnce = 200;

export function createMirrors({ events, sessions, members, monotonic }: ReportsOptions, reports: Reports) {
	/** Applies a directory entry of another gateway. */
	function applyEntry(entry: DirectoryEntry): void {
		const { sessionId, device: facts } = entry;
		const { deviceId } = facts;
		const found = sessions.find(sessionId);
		// The same session may be known from disk, without its gateway.
		const known = found && gatewayOf(found) === entry.gateway ? found : undefined;
		// Share one string among all devices of a gateway.
		const gateway = members.find(entry.gateway)?.id ?? entry.gateway;
		const link = known?.link instanceof MirrorLink ? known.link : new MirrorLink(gateway, members);
		link.isConnected = entry.connected;
		const session = known ?? newSession(entry, link);
		const wasConnected = known?.connected ?? false;
		const isConnected = entry.connected && link.isOpen();
		const { metadata, model, firmwareVersion } = known?.device ?? {};
		session.lastSeenAt = known ? Math.max(known.lastSeenAt, entry.lastSeenAt) : entry.lastSeenAt;
		session.connected = isConnected || wasConnected;
		if (!known || (!wasConnected && isConnected)) sessions.put(session, deviceId);
		const { device } = session;
		if (!device) return;
		applyFacts(device, facts, monotonic());
		if (!known) reports.onMoved(device);
		if (wasConnected && !isConnected) sessions.end(session, entry.end ?? "disconnected");
		else if (!wasConnected && isConnected) sessions.announce(session, "connected");
		else if (!known) sessions.announce(session, "identified");
		else {
			if (device.model !== model || device.firmwareVersion !== firmwareVersion)
				sessions.announce(session, "identified");
			if (!isDeepStrictEqual(device.metadata, metadata)) sessions.announce(session, "ota");
		}
		events.emit("deviceChanged", device);
	}

	/**
	 * Processes an uplink of another gateway's device.
	 * @returns its session; undefined if it is not connected
	 */
	function onUplink({ sessionId, at, isStateReport, text }: RelayedUplink) {
		const session = sessions.find(sessionId);
		if (!session?.connected || !session.link.isRemote) return undefined;
		session.lastSeenAt = at;
		const { device } = session;
		if (!device || !isStateReport) return session;
		device.lastReportAt = at;
		reports.onReport(device, text);
		return session;
	}

	/** Marks the devices of a gateway that came up as connected, according to the directory, or of one that went down as disconnected. */
	async function onMember(member: Member, isUp: boolean): Promise<void> {
		if (isUp) await reports.refresh(member);
		let count = 0;
		for (const session of [...sessions.list()]) {
			const { link, device } = session;
			if (!(link instanceof MirrorLink) || link.gateway !== member.id) continue;
			if (link.isOpen() !== isUp) return;
			if (sessions.find(session.sessionId) !== session) continue;
			if (isUp && !session.connected && link.isConnected && device?.session === session) {
				session.connected = true;
				sessions.put(session, device.deviceId);
				sessions.announce(session, "connected");
			} else if (!isUp && session.connected) {
				session.lastSeenAt = Math.max(session.lastSeenAt, member.seenAt);
				sessions.end(session, "disconnected");
			}
			count += 1;
			if (count % changedAtOnce === 0) await new Promise((resolve) => setImmediate(resolve));
		}
	}

	return { applyEntry, onUplink, onMember };
}

function newSession(
	{ sessionId, connectedAt, handshake, device }: DirectoryEntry,
	link: MirrorLink,
): Session {
	const { deviceId, model, chip } = device;
	const { remoteAddress } = handshake;
	const features = featuresOf(handshake.features);
	const known = { deviceId, isBound: false, model, chip, features, remoteAddress, baseUrl: "" };
	return new Session(known, link, connectedAt, sessionId);
}
