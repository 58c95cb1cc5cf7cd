/**
 * Persistent records of known devices. A new device is written at once, its changes within a second, and timestamps
 * (connected, last seen) within 5 minutes, since a fleet that reports every five seconds would wear out the disk.
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
import type { SessionListeners, Sessions } from "./sessions.js";

const changesSaveMs = 1_000;
/** Maximum delay of writing timestamps; the actual one is random, so that a fleet is not written at once. */
const timestampsSaveMs = 5 * 60_000;
/** Time limit of writing changed timestamps when the gateway stops. */
const lastTimestampsMs = 500;
const concurrentWrites = 64;
const notDue = Number.POSITIVE_INFINITY;

interface WriteState {
	/** Fields at the last change, except timestamps; replaced, never modified. */
	fields: readonly unknown[];
	/** Monotonic time at which a changed device is written. */
	dueAt: number;
}

export interface DeviceStoreOptions extends Pick<Base, "records" | "monotonic"> {
	readonly sessions: Pick<Sessions, "devices" | "forget">;
}

export class DeviceStore {
	readonly #records: Records<Device>;
	readonly #monotonic: () => number;
	readonly #states = new Map<Device, WriteState>();
	#timer: NodeJS.Timeout | undefined;

	constructor({ records, sessions, monotonic }: DeviceStoreOptions) {
		this.#monotonic = monotonic;
		this.#records = records<Device>({
			...deviceRecord,
			name: "devices",
			onRemoved: (deviceId) => {
				const device = sessions.devices.get(deviceId);
				if (device && !sessions.forget(device, "removed")) void this.save(device);
			},
		});
	}

	readonly listeners: SessionListeners = {
		ownSessionChanged: ({ device }, reason) => {
			if (device && reason !== "ota") this.onSeen(device);
		},
		uplink: ({ device }, { type }) => {
			if (device && (type === "state_report" || type === "settings_result")) this.onSeen(device);
		},
		deviceForgotten: (device, why) => {
			if (why === "removed") this.#states.delete(device);
			else void this.forget(device);
		},
	};

	/** Loads all devices. @returns least recently seen first @throws {NodeJS.ErrnoException} */
	async open(): Promise<readonly Device[]> {
		const devices = [...(await this.#records.load()).values()];
		for (const device of devices) this.#states.set(device, stateOf(device));
		this.#timer = setInterval(() => this.#saveDue(this.#monotonic()), changesSaveMs).unref();
		return devices.sort((a, b) => a.session.lastSeenAt - b.session.lastSeenAt);
	}

	/** Schedules writing a device that has connected, disconnected or reported. */
	onSeen(device: Device): void {
		const state = this.#states.get(device);
		if (!state) {
			this.#states.set(device, stateOf(device));
			void this.save(device);
			return;
		}
		const fields = fieldsOf(device);
		if (fields.some((field, index) => field !== state.fields[index])) {
			state.fields = fields;
			state.dueAt = Number.NEGATIVE_INFINITY;
		} else if (state.dueAt === notDue)
			state.dueAt = this.#monotonic() + timestampsSaveMs * (0.5 + Math.random() / 2);
	}

	/** Writes a device now. @returns whether it was written; if not, writing is retried every second */
	save(device: Device): Promise<boolean> {
		const state = this.#states.get(device);
		if (state) state.dueAt = notDue;
		return this.#records.save(device.deviceId, device);
	}

	/** Removes a device. @returns whether its record was removed */
	forget(device: Device): Promise<boolean> {
		this.#states.delete(device);
		return this.#records.remove(device.deviceId);
	}

	/** Writes all changes, and timestamps for up to 500 ms, since those of 10,000 devices would delay a restart. */
	async settle(): Promise<void> {
		this.#saveDue(Number.NEGATIVE_INFINITY);
		const endsAt = this.#monotonic() + lastTimestampsMs;
		const writing: Promise<boolean>[] = [];
		for (const device of this.#due(Number.MAX_VALUE)) {
			writing.push(this.save(device));
			if (writing.length === concurrentWrites) await Promise.all(writing.splice(0));
			if (this.#monotonic() > endsAt) break;
		}
		await this.#records.settle();
	}

	async close(): Promise<void> {
		clearInterval(this.#timer);
		await this.settle();
	}

	#saveDue(latest: number): void {
		for (const device of this.#due(latest)) void this.save(device);
	}

	/** Yields devices due for writing, except those now connected to another process, which writes them. */
	*#due(latest: number): Generator<Device> {
		for (const [device, state] of this.#states) {
			if (state.dueAt > latest) continue;
			state.dueAt = notDue;
			if (!device.session.link.isRemote) yield device;
		}
	}
}

function stateOf(device: Device): WriteState {
	return { fields: fieldsOf(device), dueAt: notDue };
}

function fieldsOf({ model, chip, versions, resets, settingsKeptAt, session }: Device): readonly unknown[] {
	return [model, chip, session.handshake.features, versions, resets, settingsKeptAt];
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
	/** Absent: unknown. */
	settingsKeptAt: optional(time),
	/** Latest state report as received, a JSON object. */
	report: optional(string(65_536)),
});
const reportHead = object({ health: object({ uptime_seconds: integer(0, 0xffff_ffff) }) });
export const version = object({ version: string(32), at: time });
export const reset = object({ reason: string(64), at: time });

/** Format of a stored device; times in milliseconds since 1970. */
export const deviceRecord = Object.freeze({
	what: "details",
	format: (device: Device) => {
		const { model, chip, firstSeenAt, lastReportAt, settingsKeptAt, versions, resets } = device;
		const { sessionId, connectedAt, lastSeenAt, handshake } = device.session;
		const report = device.state.text;
		const firmwareVersion = device.firmwareVersion ?? undefined;
		const { remoteAddress, features } = handshake;
		const identity = { sessionId, model, chip, firmwareVersion, features, remoteAddress };
		const seen = { firstSeenAt, connectedAt, lastSeenAt, lastReportAt };
		const times = { ...seen, settingsKeptAt: settingsKeptAt || undefined };
		return { ...identity, ...times, report, versions, resets };
	},
	parse: (value: unknown, deviceId: string): Device | undefined => {
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
			device.macAddress = report.system.mac_address.toLowerCase();
			device.imageId = report.system.image;
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

function sessionOf(deviceId: string, stored: Infer<typeof record>, features: readonly Feature[]): Session {
	const { sessionId, model, chip, remoteAddress, connectedAt, lastSeenAt } = stored;
	const handshake = { deviceId, isBound: false, model, chip, features, remoteAddress, baseUrl: "" };
	const link = { send: () => {}, isOpen: () => false, close: () => {} };
	const session = new Session(handshake, link, connectedAt, sessionId);
	session.connected = false;
	session.lastSeenAt = lastSeenAt;
	return session;
}

/** Returns the features in a list that this gateway supports. */
export function featuresOf(value: unknown): readonly Feature[] {
	const known = validItems(oneOf(...features), value);
	return sharedList(features.filter((feature) => known.includes(feature)));
}
