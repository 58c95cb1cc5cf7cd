/**
 * A device as the gateway knows it, from its first word until the gateway forgets it, and one connection of it.
 * They are two things: the state of an update belongs to the device and must outlive the connection it began on.
 */

import { randomUUID } from "node:crypto";
import { type Chip, type Feature, type StateReport, uplinks } from "../../device/protocol/messages.js";
import { isRecord, type Model, type Schema } from "../../device/protocol/schema.js";
import { KeptText } from "./kept-text.js";

const underWay = ["pending", "downloading", "rebooting"] as const;
const ended = ["updated", "rolled_back", "failed"] as const;
export const otaStatuses = ["idle", ...underWay, ...ended] as const;
export type OtaStatus = (typeof otaStatuses)[number];

/** How the device's latest update stands; the `metadata` of the session record that monitors are sent. */
export interface OtaMetadata {
	readonly otaStatus: OtaStatus;
	/** 0 to 100; null while nothing is being downloaded. */
	readonly otaPercent: number | null;
	/** The version that was asked for; null before the first update. */
	readonly otaVersion: string | null;
	/** Why it failed or was rolled back, in words; null otherwise. */
	readonly otaReason: string | null;
}
export const noUpdate: OtaMetadata = {
	otaStatus: "idle",
	otaPercent: null,
	otaVersion: null,
	otaReason: null,
};

/** The gateway's end of a device's socket. */
export interface DeviceLink {
	/** Sends one text frame; does nothing once the socket is closing. */
	send(text: string): void;
	/** Whether what is sent goes out: not once either side has begun to close. */
	isOpen(): boolean;
	/** Starts the closing handshake. */
	close(code: number, reason: string): void;
}

/** What a device said of itself in the headers of its upgrade request; each may be missing. */
export interface Introduction {
	readonly deviceId: string | undefined;
	/** It showed the token of that device alone, and may speak for no other. */
	readonly isBound: boolean;
	readonly model: Model | undefined;
	readonly chip: Chip | undefined;
	/** Commands that not every firmware knows. */
	readonly features: readonly Feature[];
	/** The peer's IP address. */
	readonly remoteAddress: string;
	/** The address by which the device reached this gateway, a proxy's path included; no slash at its end. */
	readonly baseUrl: string;
}

const listedAtMost = 10;
/** Of a report's fields that are not in its table, as a newer firmware may send. */
const otherFieldsBytes = 4096;

export class Device {
	readonly deviceId: string;
	/** Undefined until a header or a state report names it. */
	model: Model | undefined;
	chip: Chip | undefined;
	/** From the latest state report; null before the first. */
	firmwareVersion: string | null = null;
	/** Changed through Sessions.setOta alone, so that monitors hear of it. */
	metadata = noUpdate;
	/** The latest state report as it came: that is what monitors are sent. As an object it would take thrice the memory. */
	readonly state = new KeptText();
	/** Milliseconds since 1970, as all times here. */
	firstSeenAt: number;
	/** When the latest state report came; 0 before the first. */
	lastReportAt = 0;
	/** How long it had been up in its latest state report, in seconds; undefined before the first. */
	uptimeSeconds: number | undefined;
	/** What it ran and since when it is known to, the latest last; at most 10. */
	versions: readonly { readonly version: string; readonly at: number }[] = [];
	/** When and why it started anew, the latest last; at most 10. */
	resets: readonly { readonly reason: string; readonly at: number }[] = [];
	/** The latest connection; `session.connected` says whether it stands. */
	session: Session;
	/** The latest session in which it reported, and when on the monotonic clock; undefined since the gateway's start. */
	#reportedIn: Session | undefined;
	#reportedAt: number | undefined;

	constructor(deviceId: string, session: Session) {
		this.deviceId = deviceId;
		this.session = session;
		session.device = this;
		this.firstSeenAt = session.connectedAt;
	}

	/**
	 * Takes in what a state report says.
	 *
	 * @param now milliseconds since 1970
	 * @param monotonic milliseconds from any start, on a clock that no one sets
	 * @returns whether its model or its version is news
	 */
	report(report: StateReport, text: string, now: number, monotonic: number): boolean {
		const { system, health } = report;
		const { model, firmware_version: version } = system;
		const isNewVersion = this.firmwareVersion !== version;
		const isNews = isNewVersion || this.model !== model;
		if (isNewVersion) this.versions = [...this.versions, { version, at: now }].slice(-listedAtMost);
		if (this.#reportedIn !== this.session && this.#hasRestarted(health.uptime_seconds, monotonic)) {
			const reset = { reason: health.reset_reason, at: now - health.uptime_seconds * 1000 };
			this.resets = [...this.resets, reset].slice(-listedAtMost);
		}
		this.uptimeSeconds = health.uptime_seconds;
		this.#reportedAt = monotonic;
		this.#reportedIn = this.session;
		if (isNews) {
			this.model = model;
			this.firmwareVersion = version;
		}
		this.state.set(keptReport(report, text));
		this.lastReportAt = now;
		return isNews;
	}

	/**
	 * Whether it has started again since its latest report: it has been up for less than then, or for less than has passed
	 * since. It tells whole seconds, and its report may be late.
	 */
	#hasRestarted(uptimeSeconds: number, monotonic: number): boolean {
		if (this.resets.length === 0) return true;
		const { uptimeSeconds: before = 0 } = this;
		const passedSeconds = (monotonic - (this.#reportedAt ?? monotonic)) / 1000;
		const isYounger = passedSeconds > uptimeSeconds && before + passedSeconds > uptimeSeconds + 1;
		return uptimeSeconds < before || isYounger;
	}
}

/**
 * What is kept of a report, so that a device cannot fill the gateway's memory and each monitor's snapshot: all of it where
 * the fields that are not in the table take at most 4 KB, else the table's fields alone.
 *
 * @param text the report as it came
 */
export function keptReport(report: StateReport, text: string): string {
	const size = Buffer.byteLength(text);
	if (size <= otherFieldsBytes) return text;
	const checked = JSON.stringify(pick(uplinks.state_report, report));
	return size - Buffer.byteLength(checked) <= otherFieldsBytes ? text : checked;
}

/** @returns the fields of `value` that its schema names */
function pick(schema: Schema, value: unknown): unknown {
	if (schema.type !== "object" || !isRecord(value)) return value;
	const fields = Object.entries(schema.fields);
	return Object.fromEntries(fields.map(([name, field]) => [name, pick(field, value[name])]));
}

export class Session {
	readonly sessionId: string;
	readonly introduction: Introduction;
	/** Milliseconds since 1970. */
	readonly connectedAt: number;
	/** When the latest valid uplink came, in milliseconds since 1970. */
	lastSeenAt: number;
	connected = true;
	/** Undefined until the device is named, by a header or by its first state report. */
	device: Device | undefined;
	/** Sessions.end is what closes it. */
	readonly link: DeviceLink;

	constructor(introduction: Introduction, link: DeviceLink, now: number, sessionId: string = randomUUID()) {
		this.sessionId = sessionId;
		this.introduction = introduction;
		this.link = link;
		this.connectedAt = now;
		this.lastSeenAt = now;
	}

	/** Whether a command that is sent now is on its way. */
	get isReachable(): boolean {
		return this.connected && this.link.isOpen();
	}

	/** Sends one text frame to the device; does nothing once the session has ended. */
	send(text: string): void {
		if (this.connected) this.link.send(text);
	}
}
