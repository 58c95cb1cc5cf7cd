/**
 * The known devices, as they are kept. A new one is written at once, its changes within a second, and times (connected, last
 * seen) within 5 minutes: a fleet that reports every five seconds would wear out the disk otherwise.
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
import { validItems, wellFormedJson } from "../api/json.js";
import { time } from "../api/time.js";
import type { Base } from "../base.js";
import type { Records } from "../storage/records.js";
import { Device, keptReport, Session, sharedList, vitalsOf } from "./device.js";
import type { SessionListener, Sessions } from "./sessions.js";

const changesSaveMs = 1_000;
/** Upper limit; random, so that a fleet is not written at once. */
const seenSaveMs = 5 * 60_000;
/** Time to write, at a stop, the times that changed. */
const lastTimesMs = 500;
const settledAtOnce = 64;
const notDue = Number.POSITIVE_INFINITY;

interface Known {
	/** Last known facts; replaced, never changed. */
	facts: ReturnType<typeof factsOf>;
	/** Monotonic time to write it, as it has changed. */
	dueAt: number;
}

export interface DeviceStoreOptions extends Pick<Base, "records" | "monotonic"> {
	readonly sessions: Pick<Sessions, "devices" | "forget">;
	readonly onProblem: (sentence: string) => void;
}

export class DeviceStore {
	readonly #records: Records<Device>;
	readonly #monotonic: () => number;
	readonly #known = new Map<Device, Known>();
	#timer: NodeJS.Timeout | undefined;

	constructor({ records, sessions, monotonic, onProblem }: DeviceStoreOptions) {
		this.#monotonic = monotonic;
		this.#records = records<Device>({
			...deviceRecord,
			name: "devices",
			onProblem,
			onRemoved: (deviceId) => {
				const known = sessions.devices.get(deviceId);
				if (known && !sessions.forget(known, "removed")) void this.keep(known);
			},
		});
	}

	readonly sessions: SessionListener = {
		onOwnChanged: ({ device }, reason) => {
			if (device && reason !== "ota") this.onSeen(device);
		},
		onUplink: ({ device }, { type }) => {
			if (device && (type === "state_report" || type === "settings_result")) this.onSeen(device);
		},
		onForgotten: (device, why) => {
			if (why === "removed") this.#known.delete(device);
			else void this.forget(device);
		},
	};

	get readinessProblem(): string | undefined {
		return this.#records.readinessProblem;
	}

	/** @returns the longest unseen first @throws {NodeJS.ErrnoException} */
	async open(): Promise<readonly Device[]> {
		const devices = [...(await this.#records.load()).values()];
		for (const device of devices) this.#known.set(device, knownOf(device));
		this.#timer = setInterval(() => this.#save(this.#monotonic()), changesSaveMs).unref();
		return devices.sort((a, b) => a.session.lastSeenAt - b.session.lastSeenAt);
	}

	/** Call it when a device connects, disconnects or reports. */
	onSeen(device: Device): void {
		const known = this.#known.get(device);
		if (!known) {
			this.#known.set(device, knownOf(device));
			void this.keep(device);
		} else if (!hasFacts(device, known.facts)) {
			known.facts = factsOf(device);
			known.dueAt = Number.NEGATIVE_INFINITY;
		} else if (known.dueAt === notDue)
			known.dueAt = this.#monotonic() + seenSaveMs * (0.5 + Math.random() / 2);
	}

	/** @returns whether it is written; if not, it is tried again every second */
	keep(device: Device): Promise<boolean> {
		const known = this.#known.get(device);
		if (known) known.dueAt = notDue;
		return this.#records.save(device.deviceId, device);
	}

	/** @returns whether its record is gone */
	forget(device: Device): Promise<boolean> {
		this.#known.delete(device);
		return this.#records.remove(device.deviceId);
	}

	/** Writes all changes, those of times only until `isOver`: 10,000 take longer than a restart may. */
	async settle(isOver: () => boolean): Promise<void> {
		this.#save(Number.NEGATIVE_INFINITY);
		const writing: Promise<boolean>[] = [];
		for (const device of isOver() ? [] : this.#due(Number.MAX_VALUE)) {
			writing.push(this.keep(device));
			if (writing.length === settledAtOnce) await Promise.all(writing.splice(0));
			if (isOver()) break;
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
		for (const device of this.#due(latest)) void this.keep(device);
	}

	/** Yields due devices, except those that have since connected to another process, which stores them. */
	*#due(latest: number): Generator<Device> {
		for (const [device, known] of this.#known) {
			if (known.dueAt > latest) continue;
			known.dueAt = notDue;
			if (!device.session.link.isRemote) yield device;
		}
	}
}

function knownOf(device: Device): Known {
	return { facts: factsOf(device), dueAt: notDue };
}

function factsOf({ model, chip, versions, resets, settingsKeptAt, session }: Device) {
	return { model, chip, features: session.handshake.features, versions, resets, settingsKeptAt };
}

/** Called with each report: it makes no object. */
function hasFacts(
	{ model, chip, versions, resets, settingsKeptAt, session }: Device,
	facts: ReturnType<typeof factsOf>,
): boolean {
	const { features } = session.handshake;
	const hasSameLists = features === facts.features && versions === facts.versions && resets === facts.resets;
	const isSameBoard = model === facts.model && chip === facts.chip;
	return hasSameLists && isSameBoard && settingsKeptAt === facts.settingsKeptAt;
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
	/** Absent: it is not known. */
	settingsKeptAt: optional(time),
	/** The latest state report as received: a JSON object. */
	report: optional(string(65_536)),
});
const reportHead = object({ health: object({ uptime_seconds: integer(0, 0xffff_ffff) }) });
export const version = object({ version: string(32), at: time });
export const reset = object({ reason: string(64), at: time });

/** The record of a device; times in milliseconds since 1970. */
export const deviceRecord = Object.freeze({
	what: "facts",
	format: (device: Device): string => {
		const { model, chip, firstSeenAt, lastReportAt, settingsKeptAt, versions, resets } = device;
		const { sessionId, connectedAt, lastSeenAt, handshake } = device.session;
		const report = device.state.text;
		const firmwareVersion = device.firmwareVersion ?? undefined;
		const { remoteAddress, features } = handshake;
		const what = { sessionId, model, chip, firmwareVersion, features, remoteAddress };
		const seen = { firstSeenAt, connectedAt, lastSeenAt, lastReportAt };
		const when = { ...seen, settingsKeptAt: settingsKeptAt || undefined };
		return `${JSON.stringify({ ...what, ...when, report, versions, resets }, undefined, "\t")}\n`;
	},
	parse: (content: string, deviceId: string): Device | undefined => {
		const value: unknown = JSON.parse(content);
		if (!matches(record, value)) return undefined;
		const reportText = wellFormedJson(value.report ?? "{}");
		const report: unknown = JSON.parse(reportText);
		if (!isRecord(report)) return undefined;
		const lists: Readonly<Record<string, unknown>> = value;
		const device = new Device(deviceId, sessionOf(deviceId, value, featuresOf(lists.features)));
		device.model = value.model;
		device.chip = value.chip;
		device.firmwareVersion = value.firmwareVersion ?? null;
		if (value.report !== undefined && matches(uplinks.state_report, report)) {
			device.state.set(keptReport(report, Buffer.from(reportText)));
			device.vitals = vitalsOf(report, value.lastReportAt);
		}
		if (matches(reportHead, report)) device.uptimeSeconds = report.health.uptime_seconds;
		device.firstSeenAt = value.firstSeenAt;
		device.lastReportAt = value.lastReportAt;
		device.settingsKeptAt = value.settingsKeptAt ?? 0;
		device.versions = validItems(version, lists.versions);
		device.resets = validItems(reset, lists.resets);
		return device;
	},
});

function sessionOf(deviceId: string, kept: Infer<typeof record>, features: readonly Feature[]): Session {
	const { sessionId, model, chip, remoteAddress, connectedAt, lastSeenAt } = kept;
	const handshake = { deviceId, isBound: false, model, chip, features, remoteAddress, baseUrl: "" };
	const link = { send: () => {}, isOpen: () => false, close: () => {} };
	const session = new Session(handshake, link, connectedAt, sessionId);
	session.connected = false;
	session.lastSeenAt = lastSeenAt;
	return session;
}

/** Features that this gateway knows. */
export function featuresOf(value: unknown): readonly Feature[] {
	const known = validItems(oneOf(...features), value);
	return sharedList(features.filter((each) => known.includes(each)));
}
