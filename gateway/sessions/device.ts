/**
 * A device, kept until the gateway forgets it, and a session, one of its connections. An update belongs to the
 * device.
 */

import { randomUUID } from "node:crypto";
import { type Chip, type Feature, type StateReport, uplinks } from "../../device/protocol/messages.js";
import type { Model } from "../../device/protocol/schema.js";
import { urgentFault } from "../api/faults.js";
import { pick } from "../api/json.js";
import { type Label, noLabel } from "../api/label.js";
import type { SessionRecord, Vitals } from "../api/session.js";
import { noUpdate } from "../api/update.js";
import { OffHeapText } from "./off-heap-text.js";

export interface DeviceLink {
	/** No effect once the socket is closing. */
	send(text: string): void;
	/** false once either side is closing. */
	isOpen(): boolean;
	close(code: number, reason: string): void;
	/** Connected to another process, which stores it and times out its updates. */
	readonly isRemote?: boolean;
}

/** From the headers of a device's upgrade request. */
export interface Handshake {
	readonly deviceId: string | undefined;
	/** The token is for this device alone. */
	readonly isBound: boolean;
	readonly model: Model | undefined;
	readonly chip: Chip | undefined;
	readonly features: readonly Feature[];
	readonly remoteAddress: string;
	/** By which the device reached this gateway: with a proxy's path, without a final slash. */
	readonly baseUrl: string;
}

const featureLists = new Map<string, readonly Feature[]>();

/** @returns the same list for the same features, to save memory */
export function sharedList(features: readonly Feature[]): readonly Feature[] {
	const key = features.join();
	const known = featureLists.get(key) ?? features;
	featureLists.set(key, known);
	return known;
}

/** In dBm, to change the summary less often. */
const rssiStep = 5;
/** Quiet hours begin and end by the device's clock. */
const clockToleranceMs = 60_000;
export const noVitals: Vitals = Object.freeze({ rssi: null, ssid: null, volume: null });
const none: readonly never[] = Object.freeze([]);

const listedAtMost = 10;
/** For a report's fields that are not in the schema. */
export const otherFieldsBytes = 4096;

export class Device {
	readonly deviceId: string;
	/** Undefined until a header or a state report names it. */
	model: Model | undefined;
	chip: Chip | undefined;
	/** Null before the first state report. */
	firmwareVersion: string | null = null;
	/** Undefined before the first state report since the gateway's start. */
	securityVersion: number | undefined;
	/** Set by Sessions.setOta alone, which notifies monitors. */
	metadata = noUpdate;
	/** The latest report as received: an object would take three times the memory. */
	readonly state = new OffHeapText();
	/** Milliseconds since 1970, like all times here. */
	firstSeenAt: number;
	/** 0 before the first state report. */
	lastReportAt = 0;
	/** When it last kept new settings; 0: this gateway does not know of it. */
	settingsKeptAt = 0;
	uptimeSeconds: number | undefined;
	/** At most 10, latest last. */
	versions: readonly { readonly version: string; readonly at: number }[] = none;
	/** Restarts; at most 10, latest last. */
	resets: readonly { readonly reason: string; readonly at: number }[] = none;
	/** Returns fields that an extension adds to the session record. */
	describeMore: (() => Pick<SessionRecord, "crashCount">) | undefined;
	label: Label = noLabel;
	vitals = noVitals;
	session: Session;
	/** Session of the latest report since the gateway's start. */
	#reportedIn: Session | undefined;
	#reportedAt = Number.POSITIVE_INFINITY;

	constructor(deviceId: string, session: Session) {
		this.deviceId = deviceId;
		this.session = session;
		session.device = this;
		this.firstSeenAt = session.connectedAt;
	}

	/** Whether it has reported on its latest connection; if not, `firmwareVersion` may be outdated. */
	get hasReported(): boolean {
		return this.#reportedIn === this.session;
	}

	/**
	 * @param text as received, in UTF-8 @param now milliseconds since 1970 @param monotonic in milliseconds
	 * @returns whether model or version changed
	 */
	report(report: StateReport, text: Buffer, now: number, monotonic: number): boolean {
		const { system, health } = report;
		const { model, firmware_version: version } = system;
		const isNewVersion = this.firmwareVersion !== version;
		const isNews = isNewVersion || this.model !== model;
		if (isNewVersion) this.versions = [...this.versions, { version, at: now }].slice(-listedAtMost);
		if (this.#reportedIn !== this.session && this.#hasRestarted(health.uptime_seconds, monotonic)) {
			const reset = { reason: health.reset_reason, at: now - health.uptime_seconds * 1000 };
			this.resets = [...this.resets, reset].slice(-listedAtMost);
		}
		this.securityVersion = system.security_version;
		this.uptimeSeconds = health.uptime_seconds;
		this.#reportedAt = monotonic;
		this.#reportedIn = this.session;
		if (isNews) {
			this.model = model;
			this.firmwareVersion = version;
		}
		this.state.set(keptReport(report, text));
		this.vitals = vitalsOf(report, now, this.vitals);
		this.lastReportAt = now;
		return isNews;
	}

	/** Records a report without its content, as `report` does. @param monotonic as in `report` */
	setReported(hasReported: boolean, monotonic: number): void {
		this.#reportedAt = monotonic;
		this.#reportedIn = hasReported ? this.session : undefined;
	}

	/**
	 * Compares the uptime with that of the latest report, and with the time that has passed since. Uptime is in whole
	 * seconds, and reports may be late.
	 */
	#hasRestarted(uptimeSeconds: number, monotonic: number): boolean {
		if (this.resets.length === 0) return true;
		const { uptimeSeconds: before = 0 } = this;
		const passedSeconds = (monotonic - this.#reportedAt) / 1000;
		const isYounger = passedSeconds > uptimeSeconds && before + passedSeconds > uptimeSeconds + 1;
		return uptimeSeconds < before || isYounger;
	}
}

/** @param now when it was received, in milliseconds since 1970 @param previous those of the previous report */
export function vitalsOf(report: StateReport, now: number, previous = noVitals): Vitals {
	const { health, network, peripherals } = report;
	const { wifi_rssi: heard, wifi_ssid: ssid } = network;
	const isNear = previous.rssi !== null && Math.abs(heard - previous.rssi) < rssiStep;
	const rssi = isNear ? previous.rssi : heard;
	const { volume } = peripherals.audio;
	const { safe_mode: safeMode = false } = health;
	const fault = urgentFault(peripherals) ?? clockFault(Date.parse(report.timestamp) - now);
	const isSame = rssi === previous.rssi && ssid === previous.ssid && volume === previous.volume;
	if (isSame && safeMode === (previous.safeMode ?? false) && fault === previous.fault) return previous;
	return { rssi, ssid, volume, ...(safeMode && { safeMode }), ...(fault !== undefined && { fault }) };
}

function clockFault(aheadMs: number): string | undefined {
	if (Math.abs(aheadMs) <= clockToleranceMs) return undefined;
	const where = aheadMs > 0 ? "ahead of" : "behind";
	return `The device's clock is more than a minute ${where} the gateway's: check the time server of both.`;
}

/** @returns the report, or only the schema's fields if the others take more than 4 KB */
export function keptReport(report: StateReport, text: Buffer): Buffer {
	if (text.length <= otherFieldsBytes) return text;
	const checked = Buffer.from(JSON.stringify(pick(uplinks.state_report, report)));
	return text.length - checked.length <= otherFieldsBytes ? text : checked;
}

export class Session {
	readonly sessionId: string;
	readonly handshake: Handshake;
	readonly connectedAt: number;
	/** Time of the latest valid uplink; milliseconds since 1970. */
	lastSeenAt = 0;
	connected = true;
	/** Undefined until a header or the first state report names it. */
	device: Device | undefined;
	/** Closed by Sessions.end alone. */
	readonly link: DeviceLink;

	constructor(handshake: Handshake, link: DeviceLink, now: number, sessionId: string = randomUUID()) {
		this.sessionId = sessionId;
		this.handshake = handshake;
		this.link = link;
		this.connectedAt = now;
		this.lastSeenAt = now;
	}

	get isReachable(): boolean {
		return this.connected && this.link.isOpen();
	}

	/** No effect once the session has ended. */
	send(text: string): void {
		if (this.connected) this.link.send(text);
	}
}
