/**
 * What was ever here, over restarts and power cuts of the gateway. Changes of substance go to disk within a second;
 * the latest report alone may be some minutes old there, or a fleet that reports every five seconds would wear it out.
 */

import { chips } from "../../device/protocol/messages.js";
import {
	integer,
	isRecord,
	matches,
	models,
	object,
	oneOf,
	optional,
	type Schema,
	text,
	type Value,
} from "../../device/protocol/schema.js";
import type { RecordFolder } from "../record-folder.js";
import { Device, Session } from "./device.js";

export interface KnownDevicesOptions {
	/** See `deviceFile` for their form on disk. */
	readonly records: RecordFolder<Device>;
	/** Milliseconds since 1970. */
	readonly now: () => number;
}

const changesSaveMs = 1_000;
/** Files a second: a whole fleet that comes back must not keep the disk, nor the gateway, from all else. */
const savesASecond = 50;
const reportsSaveMs = 5 * 60_000;

export class KnownDevices {
	readonly #options: KnownDevicesOptions;
	readonly #changed = new Set<Device>();
	/** Devices that have reported since they were last saved, and since when; those that wait longest come first. */
	readonly #reported = new Map<Device, number>();
	/** Of each device, its restarts when it last reported. */
	readonly #resets = new WeakMap<Device, Device["resets"]>();
	#timer: NodeJS.Timeout | undefined;

	constructor(options: KnownDevicesOptions) {
		this.#options = options;
	}

	/** What the last run left, the device longest unseen first. @throws {NodeJS.ErrnoException} */
	async open(): Promise<readonly Device[]> {
		const records = await this.#options.records.load();
		this.#timer = setInterval(() => this.#save(reportsSaveMs, savesASecond), changesSaveMs).unref();
		return [...records.values()].sort((a, b) => a.session.lastSeenAt - b.session.lastSeenAt);
	}

	/** It came, went, or is not what it was. */
	onChanged(device: Device): void {
		this.#changed.add(device);
	}

	/** It has reported. */
	onReport(device: Device): void {
		if (this.#resets.get(device) !== device.resets) this.onChanged(device);
		this.#resets.set(device, device.resets);
		if (!this.#reported.has(device)) this.#reported.set(device, this.#options.now());
	}

	forget(device: Device): Promise<void> {
		this.#changed.delete(device);
		this.#reported.delete(device);
		return this.#options.records.remove(device.deviceId);
	}

	/** Stops; resolves once everything is on disk. */
	async close(): Promise<void> {
		clearInterval(this.#timer);
		this.#save(0, Number.POSITIVE_INFINITY);
		await this.#options.records.settle();
	}

	/** @param ageMs of reports that are to be saved by now */
	#save(ageMs: number, atMost: number): void {
		const latest = this.#options.now() - ageMs;
		for (const [device, since] of this.#reported) {
			if (since > latest) break;
			this.#changed.add(device);
		}
		let saved = 0;
		for (const device of this.#changed) {
			if (++saved > atMost) return;
			this.#changed.delete(device);
			this.#reported.delete(device);
			void this.#options.records.save(device.deviceId, device);
		}
	}
}

const time = integer(0, Number.MAX_SAFE_INTEGER);
const record = object({
	sessionId: text(36),
	model: optional(oneOf(...models)),
	chip: optional(oneOf(...chips)),
	firmwareVersion: optional(text(32)),
	remoteAddress: text(64),
	firstSeenAt: time,
	connectedAt: time,
	lastSeenAt: time,
	lastReportAt: time,
	/** The latest state report as it came: the text of a JSON object. */
	report: optional(text(65_536)),
});
const version = object({ version: text(32), at: time });
const reset = object({ reason: text(64), at: time });

/** The record of a device as it is kept on disk; times in milliseconds since 1970. */
export const deviceFile = Object.freeze({
	what: "facts",
	format: (device: Device): string => {
		const { session, model, chip, firmwareVersion, stateText: report } = device;
		const content: Value<typeof record> = {
			sessionId: session.sessionId,
			...(model && { model }),
			...(chip && { chip }),
			...(firmwareVersion !== null && { firmwareVersion }),
			remoteAddress: session.introduction.remoteAddress,
			firstSeenAt: device.firstSeenAt,
			connectedAt: session.connectedAt,
			lastSeenAt: session.lastSeenAt,
			lastReportAt: device.lastReportAt,
			...(report !== undefined && { report }),
		};
		const { versions, resets } = device;
		return `${JSON.stringify({ ...content, versions, resets }, undefined, "\t")}\n`;
	},
	parse: (content: string, deviceId: string): Device | undefined => {
		const value: unknown = JSON.parse(content);
		if (!matches(record, value) || !isRecord(JSON.parse(value.report ?? "{}"))) return undefined;
		const lists: Readonly<Record<string, unknown>> = value;
		const device = new Device(deviceId, sessionOf(deviceId, value));
		device.model = value.model;
		device.chip = value.chip;
		device.firmwareVersion = value.firmwareVersion ?? null;
		device.stateText = value.report;
		device.firstSeenAt = value.firstSeenAt;
		device.lastReportAt = value.lastReportAt;
		device.versions = listOf(version, lists.versions);
		device.resets = listOf(reset, lists.resets);
		return device;
	},
});

/** The connection that a device last had; it has ended. */
function sessionOf(deviceId: string, kept: Value<typeof record>): Session {
	const { sessionId, model, chip, remoteAddress, connectedAt, lastSeenAt } = kept;
	const introduction = { deviceId, isBound: false, model, chip, remoteAddress, baseUrl: "" };
	const session = new Session(introduction, { send: () => {}, close: () => {} }, connectedAt, sessionId);
	session.connected = false;
	session.lastSeenAt = lastSeenAt;
	return session;
}

function listOf<S extends Schema>(schema: S, value: unknown): readonly Value<S>[] {
	if (!Array.isArray(value)) return [];
	return value.filter((each): each is Value<S> => matches(schema, each));
}
