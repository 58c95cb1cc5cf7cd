/**
 * Device, kept until the gateway forgets it, and session, one of its connections.
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

/** Connection of a device. */
export interface DeviceLink {
	/** No effect while the socket is closing or closed. */
	send(text: string): void;
	/** False if either side is closing the connection. */
	isOpen(): boolean;
	close(code: number, reason: string): void;
	/** Whether the device is connected to another process, which stores it and times out its updates. */
	readonly isRemote?: boolean;
}

/** Data from a device's upgrade request. */
export interface Handshake {
	readonly deviceId: string | undefined;
	/** Whether the token is valid for this device only. */
	readonly isBound: boolean;
	readonly model: Model | undefined;
	readonly chip: Chip | undefined;
	readonly features: readonly Feature[];
	readonly remoteAddress: string;
	/** URL at which the device reached this gateway, including a proxy's path, without a trailing slash. */
	readonly baseUrl: string;
}

const featureLists = new Map<string, readonly Feature[]>();

/** Returns one shared list for equal lists, to save memory. */
export function sharedList(features: readonly Feature[]): readonly Feature[] {
	const key = features.join();
	const known = featureLists.get(key) ?? features;
	featureLists.set(key, known);
	return known;
}

/** Smallest reported change of the signal strength in dBm, which limits changes of the summary. */
const rssiStep = 5;
/** Deviation of the device's clock, which times quiet hours, above which it is reported as a fault. */
const clockToleranceMs = 60_000;
export const noVitals: Vitals = Object.freeze({ rssi: null, ssid: null, volume: null });
const none: readonly never[] = Object.freeze([]);

/** Time without a connection of a duplicate after which it counts as gone. A rejected device retries once a minute. */
const duplicateMs = 5 * 60_000;
/** Maximum length of `versions` and `resets`. */
const historyLength = 10;
/** Maximum size of a report's fields that are not in the schema. */
export const otherFieldsBytes = 4096;

/** Board that was rejected, since a known one has its id. Times in milliseconds since 1970. */
export interface Duplicate {
	/** Sentence with both MAC addresses. */
	readonly reason: string;
	readonly since: number;
	readonly lastAt: number;
}

export class Device {
	readonly deviceId: string;
	/** Undefined until reported by a header or a state report. */
	model: Model | undefined;
	chip: Chip | undefined;
	/** Null before the first state report. */
	firmwareVersion: string | null = null;
	/** Running image; undefined if unknown. */
	imageId: string | undefined;
	/** Undefined before the first state report since the gateway's start. */
	securityVersion: number | undefined;
	/** In lower case; undefined before the first state report. */
	macAddress: string | undefined;
	/** Status of the update. Set only by Sessions.setOta, which notifies monitors. */
	metadata = noUpdate;
	/** Latest report as received. A parsed object would take three times the memory. */
	readonly state = new OffHeapText();
	/** Milliseconds since 1970, like all times here. */
	firstSeenAt: number;
	/** 0 before the first state report. */
	lastReportAt = 0;
	/** Time at which the device last confirmed new settings; 0: unknown to this gateway. */
	settingsKeptAt = 0;
	uptimeSeconds: number | undefined;
	/** Firmware versions, at most 10, latest last. */
	versions: readonly { readonly version: string; readonly at: number }[] = none;
	/** Restarts, at most 10, latest last. */
	resets: readonly { readonly reason: string; readonly at: number }[] = none;
	/** Returns fields that an extension adds to the session record. */
	describeMore: (() => Pick<SessionRecord, "crashCount">) | undefined;
	label: Label = noLabel;
	vitals = noVitals;
	session: Session;
	#duplicate: Duplicate | undefined;
	/** Session of the latest report; undefined before the first one since the gateway's start. */
	#reportedIn: Session | undefined;
	/** Monotonic time of the latest report. */
	#reportedAt = Number.POSITIVE_INFINITY;

	constructor(deviceId: string, session: Session) {
		this.deviceId = deviceId;
		this.session = session;
		session.device = this;
		this.firstSeenAt = session.connectedAt;
	}

	/** Whether the device has reported in its current session. If not, `firmwareVersion` may be outdated. */
	get hasReported(): boolean {
		return this.#reportedIn === this.session;
	}

	/**
	 * Applies a state report.
	 * @param text report as received, in UTF-8 @param now milliseconds since 1970 @param monotonic time in milliseconds
	 * @returns whether model or firmware version changed
	 */
	report(report: StateReport, text: Buffer, now: number, monotonic: number): boolean {
		const { system, health } = report;
		const { model, firmware_version: version } = system;
		const isNewVersion = this.firmwareVersion !== version;
		const hasChanged = isNewVersion || this.model !== model;
		if (isNewVersion) this.versions = [...this.versions, { version, at: now }].slice(-historyLength);
		if (this.#reportedIn !== this.session && this.#hasRestarted(health.uptime_seconds, monotonic)) {
			const reset = { reason: health.reset_reason, at: now - health.uptime_seconds * 1000 };
			this.resets = [...this.resets, reset].slice(-historyLength);
		}
		this.macAddress = system.mac_address.toLowerCase();
		this.securityVersion = system.security_version;
		this.imageId = system.image;
		this.uptimeSeconds = health.uptime_seconds;
		this.#reportedAt = monotonic;
		this.#reportedIn = this.session;
		if (hasChanged) {
			this.model = model;
			this.firmwareVersion = version;
		}
		this.state.set(keptReport(report, text));
		this.vitals = vitalsOf(report, now, this.vitals);
		this.lastReportAt = now;
		return hasChanged;
	}

	/** Records the rejection of another board with this id. @param now milliseconds since 1970 @returns its reason */
	onDuplicate(macAddress: string, now: number): string {
		const { deviceId } = this;
		const reason = `${deviceId} is the board ${this.macAddress}. Give the board ${macAddress} another id, or forget ${deviceId} to replace its board.`;
		this.#duplicate = { reason, since: this.duplicateAt(now)?.since ?? now, lastAt: now };
		return reason;
	}

	/** @param now milliseconds since 1970 @returns other board with this id; undefined: none in the last 5 minutes */
	duplicateAt(now: number): Duplicate | undefined {
		return this.#duplicate && now - this.#duplicate.lastAt < duplicateMs ? this.#duplicate : undefined;
	}

	/** Records that the device has or has not reported, without a report. @param monotonic time in milliseconds */
	setReported(hasReported: boolean, monotonic: number): void {
		this.#reportedAt = monotonic;
		this.#reportedIn = hasReported ? this.session : undefined;
	}

	/**
	 * Detects a restart by comparing the uptime with the latest reported one and with the time elapsed since then. Uptime
	 * is in whole seconds, and reports may be late.
	 */
	#hasRestarted(uptimeSeconds: number, monotonic: number): boolean {
		if (this.resets.length === 0) return true;
		const { uptimeSeconds: previousSeconds = 0 } = this;
		const elapsedSeconds = (monotonic - this.#reportedAt) / 1000;
		const startedSince =
			elapsedSeconds > uptimeSeconds && previousSeconds + elapsedSeconds > uptimeSeconds + 1;
		return uptimeSeconds < previousSeconds || startedSince;
	}
}

/**
 * Returns the part of a report that device lists show, or `previous` if it has not changed.
 * @param now time of receipt, in milliseconds since 1970 @param previous vitals of the previous report
 */
export function vitalsOf(report: StateReport, now: number, previous = noVitals): Vitals {
	const { health, network, peripherals } = report;
	const { wifi_rssi: reportedRssi, wifi_ssid: ssid } = network;
	const isClose = previous.rssi !== null && Math.abs(reportedRssi - previous.rssi) < rssiStep;
	const rssi = isClose ? previous.rssi : reportedRssi;
	const { volume, unmuted_volume: unmutedVolume } = peripherals.audio;
	const { safe_mode: safeMode = false } = health;
	const fault = urgentFault(peripherals) ?? clockFault(Date.parse(report.timestamp) - now, health);
	const isSame =
		rssi === previous.rssi &&
		ssid === previous.ssid &&
		volume === previous.volume &&
		unmutedVolume === previous.unmutedVolume &&
		safeMode === (previous.safeMode ?? false) &&
		fault === previous.fault;
	if (isSame) return previous;
	return {
		rssi,
		ssid,
		volume,
		...(unmutedVolume !== undefined && { unmutedVolume }),
		...(safeMode && { safeMode }),
		...(fault !== undefined && { fault }),
	};
}

function clockFault(
	aheadMs: number,
	{ clock_ahead_seconds: corrected }: StateReport["health"],
): string | undefined {
	if (corrected !== undefined)
		return "The device's clock was more than a day ahead until it was corrected. Check the time servers of device and gateway.";
	if (Math.abs(aheadMs) <= clockToleranceMs) return undefined;
	const where = aheadMs > 0 ? "ahead of" : "behind";
	return `The device's clock is more than a minute ${where} the gateway's. Check the time servers of both.`;
}

/** Returns the report as received, or with the schema's fields only if the others exceed 4 KB. */
export function keptReport(report: StateReport, text: Buffer): Buffer {
	if (text.length <= otherFieldsBytes) return text;
	const reduced = Buffer.from(JSON.stringify(pick(uplinks.state_report, report)));
	return text.length - reduced.length <= otherFieldsBytes ? text : reduced;
}

export class Session {
	readonly sessionId: string;
	readonly handshake: Handshake;
	readonly connectedAt: number;
	/** Time of the latest valid uplink; milliseconds since 1970. */
	lastSeenAt = 0;
	connected = true;
	/** Undefined until identified by a header or the first state report. */
	device: Device | undefined;
	/** Closed only by Sessions.end. */
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

	/** No effect after the session has ended. */
	send(text: string): void {
		if (this.connected) this.link.send(text);
	}
}
