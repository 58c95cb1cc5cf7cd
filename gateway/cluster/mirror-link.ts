/** Link and facts of a device that another gateway has. */

import { noUpdate } from "../api/update.js";
import { type Device, type DeviceLink, noVitals, type Session } from "../sessions/device.js";
import type { Member, Members } from "./members.js";
import type { DeviceFacts } from "./messages.js";

/** Link to a device of another gateway. Commands are forwarded unparsed. */
export class MirrorLink implements DeviceLink {
	readonly isRemote = true;
	/** Id of the gateway. */
	readonly gateway: string;
	/** Connection status in the directory. */
	isConnected = false;
	readonly #members: Pick<Members, "find">;

	constructor(gateway: string, members: Pick<Members, "find">) {
		this.gateway = gateway;
		this.#members = members;
	}

	/** The gateway if it is up, otherwise undefined. */
	get member(): Member | undefined {
		return this.#members.find(this.gateway);
	}

	isOpen(): boolean {
		return this.member !== undefined;
	}

	send(): void {}
	close(): void {}
}

/** Returns the id of the session's gateway; undefined for this one. */
export function gatewayOf({ link }: Session): string | undefined {
	return link instanceof MirrorLink ? link.gateway : undefined;
}

export function applyFacts(device: Device, facts: DeviceFacts, monotonic: number): void {
	device.model = facts.model;
	device.chip = facts.chip;
	device.firmwareVersion = facts.firmwareVersion ?? null;
	device.securityVersion = facts.securityVersion;
	device.imageId = facts.imageId;
	device.macAddress = facts.macAddress ?? device.macAddress;
	const { metadata } = facts;
	device.metadata = metadata.otaStatus === "idle" ? noUpdate : { ...noUpdate, ...metadata };
	device.firstSeenAt = Math.min(device.firstSeenAt, facts.firstSeenAt);
	device.lastReportAt = facts.lastReportAt;
	device.settingsKeptAt = facts.settingsKeptAt ?? 0;
	device.uptimeSeconds = facts.uptimeSeconds;
	device.versions = facts.versions;
	device.resets = facts.resets;
	const { safeMode, ...vitals } = facts.vitals;
	device.vitals = { ...noVitals, ...vitals, ...(safeMode && { safeMode }) };
	device.setReported(facts.hasReported, monotonic);
}
