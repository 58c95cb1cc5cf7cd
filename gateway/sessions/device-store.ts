/**
 * The known devices on disk. A new one is written at once, its changes within a second, and times (connected, last
 * seen) within 5 minutes.
 */

import { chips, type Feature, features, uplinks } from "../../device/protocol/messages.js";
import {
	type Infer,
	integer,
	isRecord,
	matches,
	models,
	object,
	oneOf,
	optional,
	string,
} from "../../device/protocol/schema.js";
import { label, labelOf } from "../api/label.js";
import { validItems } from "../json.js";
import { isLater, type RecordStore } from "../storage/json-file-store.js";
import { time } from "../storage/time.js";
import { Device, keptReport, Session, sharedList, vitalsOf } from "./device.js";
import type { SessionListener } from "./sessions.js";

const changesSaveMs = 1_000;
/** Upper limit; random, so that a fleet is not written at once. */
const seenSaveMs = 5 * 60_000;
/** Time to write, at a stop, the times that changed. */
const lastTimesMs = 500;
const settledAtOnce = 64;

export class DeviceStore {
	readonly #records: RecordStore<Device>;
	readonly #monotonic: () => number;
	/** Monotonic time to write a changed device. */
	readonly #dueAt = new Map<Device, number>();
	/** As last seen; a changed list is a new object. */
	readonly #facts = new WeakMap<Device, ReturnType<typeof factsOf>>();
	#timer: NodeJS.Timeout | undefined;

	/** @param monotonic in milliseconds */
	constructor(records: RecordStore<Device>, monotonic: () => number) {
		this.#records = records;
		this.#monotonic = monotonic;
	}

	readonly sessions: SessionListener = {
		onChanged: ({ device, link }, reason) => {
			if (device && reason !== "ota" && !link.isRemote) this.onSeen(device);
		},
		onUplink: ({ device }, { type }) => {
			if (device && type === "state_report") this.onSeen(device);
		},
		onForgotten: (device) => void this.forget(device),
	};

	get readinessProblem(): string | undefined {
		return this.#records.readinessProblem;
	}

	/** @returns the longest unseen first @throws {NodeJS.ErrnoException} */
	async open(): Promise<readonly Device[]> {
		const devices = [...(await this.#records.load()).values()];
		for (const device of devices) this.#facts.set(device, factsOf(device));
		this.#timer = setInterval(() => this.#save(this.#monotonic()), changesSaveMs).unref();
		return devices.sort((a, b) => a.session.lastSeenAt - b.session.lastSeenAt);
	}

	/** Call it when a device connects, disconnects or reports. */
	onSeen(device: Device): void {
		const facts = factsOf(device);
		const previous = this.#facts.get(device);
		if (!previous || factNames.some((name) => previous[name] !== facts[name])) {
			this.#facts.set(device, facts);
			if (previous) this.#dueAt.set(device, Number.NEGATIVE_INFINITY);
			else void this.keep(device);
		} else if (!this.#dueAt.has(device))
			this.#dueAt.set(device, this.#monotonic() + seenSaveMs * (0.5 + Math.random() / 2));
	}

	/** @returns whether its file is written; otherwise it is retried every second */
	keep(device: Device): Promise<boolean> {
		this.#dueAt.delete(device);
		return this.#records.save(device.deviceId, device);
	}

	/** @returns whether its file is removed */
	forget(device: Device): Promise<boolean> {
		this.#dueAt.delete(device);
		return this.#records.remove(device.deviceId);
	}

	/** Writes all changes, those of times only until `isOver`: 10,000 take longer than a restart may. */
	async settle(isOver: () => boolean): Promise<void> {
		this.#save(Number.NEGATIVE_INFINITY);
		const writing: Promise<boolean>[] = [];
		for (const device of [...this.#dueAt.keys()]) {
			if (isOver()) break;
			writing.push(this.keep(device));
			if (writing.length === settledAtOnce) await Promise.all(writing.splice(0));
		}
		await this.#records.settle();
	}

	async close(): Promise<void> {
		clearInterval(this.#timer);
		const endsAt = this.#monotonic() + lastTimesMs;
		await this.settle(() => this.#monotonic() > endsAt);
		await this.#records.close();
	}

	#save(latest: number): void {
		for (const [device, dueAt] of this.#dueAt) {
			if (dueAt > latest) continue;
			this.#dueAt.delete(device);
			void this.#records.save(device.deviceId, device);
		}
	}
}

const factNames = ["model", "chip", "features", "versions", "resets"] as const;

function factsOf({ model, chip, versions, resets, session }: Device) {
	return { model, chip, features: session.handshake.features, versions, resets };
}

const record = object({
	sessionId: string(36),
	model: optional(oneOf(...models)),
	chip: optional(oneOf(...chips)),
	firmwareVersion: optional(string(32)),
	remoteAddress: string(64),
	firstSeenAt: time,
	connectedAt: time,
	lastSeenAt: time,
	lastReportAt: time,
	...label.fields,
	/** Absent: 0. */
	labelledAt: optional(time),
	/** As received: a JSON object. */
	report: optional(string(65_536)),
});
const reportHead = object({ health: object({ uptime_seconds: integer(0, 0xffff_ffff) }) });
export const version = object({ version: string(32), at: time });
export const reset = object({ reason: string(64), at: time });

/** The file of a device; times in milliseconds since 1970. */
export const deviceFile = Object.freeze({
	what: "facts",
	format: (device: Device): string => {
		const { model, chip, firstSeenAt, lastReportAt, versions, resets } = device;
		const { sessionId, connectedAt, lastSeenAt, handshake } = device.session;
		const report = device.state.text;
		const firmwareVersion = device.firmwareVersion ?? undefined;
		const { remoteAddress, features } = handshake;
		const what = { sessionId, model, chip, firmwareVersion, features, remoteAddress };
		const when = { firstSeenAt, connectedAt, lastSeenAt, lastReportAt };
		const named = { ...device.label, ...(device.labelledAt > 0 && { labelledAt: device.labelledAt }) };
		return `${JSON.stringify({ ...what, ...when, ...named, report, versions, resets }, undefined, "\t")}\n`;
	},
	parse: (content: string, deviceId: string): Device | undefined => {
		const value: unknown = JSON.parse(content);
		if (!matches(record, value)) return undefined;
		const report: unknown = JSON.parse(value.report ?? "{}");
		if (!isRecord(report)) return undefined;
		const lists: Readonly<Record<string, unknown>> = value;
		const device = new Device(deviceId, sessionOf(deviceId, value, featuresOf(lists.features)));
		device.model = value.model;
		device.chip = value.chip;
		device.firmwareVersion = value.firmwareVersion ?? null;
		if (value.report !== undefined && matches(uplinks.state_report, report)) {
			device.state.set(keptReport(report, value.report));
			device.vitals = vitalsOf(report);
		}
		if (matches(reportHead, report)) device.uptimeSeconds = report.health.uptime_seconds;
		device.label = labelOf(value);
		device.labelledAt = value.labelledAt ?? 0;
		device.firstSeenAt = value.firstSeenAt;
		device.lastReportAt = value.lastReportAt;
		device.versions = validItems(version, lists.versions);
		device.resets = validItems(reset, lists.resets);
		return device;
	},
	/** Without what changes with each connection and report. */
	stateOf: (device: Device): string => {
		const { firmwareVersion, firstSeenAt, label, labelledAt } = device;
		return JSON.stringify({ ...factsOf(device), firmwareVersion, firstSeenAt, label, labelledAt });
	},
	changedAt: ({ session, labelledAt }: Device): number =>
		session.connected ? Number.POSITIVE_INFINITY : Math.max(session.lastSeenAt, labelledAt),
	/** The facts of the later session, with the later label. @returns a new device */
	merge: (one: Device, other: Device): Device => {
		const later = isLater(seenOf(other), seenOf(one)) ? other : one;
		const labelled = isLater(labelledOf(other), labelledOf(one)) ? other : one;
		const merged = deviceFile.parse(deviceFile.format(later), later.deviceId) ?? later;
		merged.label = labelled.label;
		merged.labelledAt = labelled.labelledAt;
		merged.firstSeenAt = Math.min(one.firstSeenAt, other.firstSeenAt);
		return merged;
	},
});

function seenOf(device: Device) {
	const { connectedAt, sessionId, lastSeenAt } = device.session;
	return [connectedAt, sessionId, lastSeenAt, deviceFile.stateOf(device)];
}

function labelledOf({ labelledAt, label }: Device) {
	return [labelledAt, JSON.stringify(label)];
}

function sessionOf(deviceId: string, kept: Infer<typeof record>, features: readonly Feature[]): Session {
	const { sessionId, model, chip, remoteAddress, connectedAt, lastSeenAt } = kept;
	const handshake = { deviceId, isBound: false, model, chip, features, remoteAddress, baseUrl: "" };
	const link = { send: () => {}, isOpen: () => false, close: () => {} };
	const session = new Session(handshake, link, connectedAt, sessionId);
	session.connected = false;
	session.lastSeenAt = lastSeenAt;
	return session;
}

/** Without features that this gateway does not know. */
export function featuresOf(value: unknown): readonly Feature[] {
	const known = validItems(oneOf(...features), value);
	return sharedList(features.filter((each) => known.includes(each)));
}
