/**
 * All known devices and their sessions. Every change passes through this class, so monitors, updates and commands
 * agree about a device's current session.
 */

import type { StateReport, Uplink } from "../../device/protocol/messages.js";
import {
	Device,
	type DeviceLink,
	type Handshake,
	type Label,
	labelOf,
	type OtaMetadata,
	Session,
} from "./device.js";
import type { ChangeReason, EndReason } from "./view.js";

/** The device has connected again. */
const replacedCloseCode = 4001;

export interface SessionsOptions {
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
	/** Beyond it, those longest away are forgotten. */
	readonly maxDevices: number;
	/** A session was opened, named or ended, its device's update or label changed, or a crash of it was stored. */
	readonly onChanged: (session: Session, reason: ChangeReason) => void;
	/** Once per session of a named device. */
	readonly onNamed: (device: Device) => void;
	/** With its text as received; `session.device` is up to date. */
	readonly onUplink: (session: Session, uplink: Uplink, text: string) => void;
	readonly onForgotten: (device: Device) => void;
}

export class Sessions {
	readonly #options: SessionsOptions;
	/** In the order of the latest connect or disconnect. */
	readonly #devices = new Map<string, Device>();
	/** Those of `list`. */
	readonly #sessions = new Map<string, Session>();

	constructor(options: SessionsOptions) {
		this.#options = options;
	}

	/** Connected sessions, and the latest of each device that is away. */
	list(): Iterable<Session> {
		return this.#sessions.values();
	}

	/** By device id. */
	get devices(): ReadonlyMap<string, Device> {
		return this.#devices;
	}

	/** @param devices of the last run, the one longest away first */
	restore(devices: Iterable<Device>): void {
		for (const device of devices) {
			this.#devices.set(device.deviceId, device);
			this.#sessions.set(device.session.sessionId, device.session);
		}
		this.#forgetSurplus();
	}

	/** @returns false if it is connected: it would be known again at once */
	forget(device: Device): boolean {
		if (device.session.connected) return false;
		this.#devices.delete(device.deviceId);
		this.#sessions.delete(device.session.sessionId);
		this.#options.onForgotten(device);
		return true;
	}

	/** An older session of the same device ends as `replaced`. */
	open(handshake: Handshake, link: DeviceLink): Session {
		const session = new Session(handshake, link, this.#options.now());
		this.#sessions.set(session.sessionId, session);
		if (handshake.deviceId !== undefined) this.#assign(session, handshake.deviceId);
		this.#options.onChanged(session, "connected");
		if (session.device) this.#options.onNamed(session.device);
		return session;
	}

	/**
	 * @param uplink checked
	 * @param text as received
	 * @returns why it is not valid; undefined if it is
	 */
	receive(session: Session, uplink: Uplink, text: string): string | undefined {
		if ("deviceId" in uplink && session.device && uplink.deviceId !== session.device.deviceId)
			return `${uplink.type}: deviceId must be ${session.device.deviceId}, as this connection was named`;
		session.lastSeenAt = this.#options.now();
		if (uplink.type === "state_report") this.#report(session, uplink, text);
		this.#options.onUplink(session, uplink, text);
		return undefined;
	}

	/**
	 * Ends a session. No effect if it has ended.
	 * @param close frame to send; absent if the socket is closed
	 */
	end(session: Session, reason: EndReason, close?: { code: number; reason: string }): void {
		if (!session.connected) return;
		session.connected = false;
		if (close) session.link.close(close.code, close.reason);
		if (session.device?.session === session) this.#moveToEnd(session.device);
		else this.#sessions.delete(session.sessionId);
		this.#options.onChanged(session, reason);
	}

	/** @param targetId a session's id, or a device's for its latest session */
	find(targetId: string): Session | undefined {
		return this.#sessions.get(targetId) ?? this.#devices.get(targetId)?.session;
	}

	/** Tells monitors too: `ota`. */
	setOta(device: Device, metadata: OtaMetadata): void {
		device.metadata = metadata;
		this.#options.onChanged(device.session, "ota");
	}

	/** Tells monitors of a crash that was stored: `crash`. */
	announceCrash(device: Device): void {
		this.#options.onChanged(device.session, "crash");
	}

	/** Tells monitors too: `labelled`. An empty text removes it. */
	setLabel(device: Device, change: Label): void {
		device.label = labelOf({ ...device.label, ...change });
		this.#options.onChanged(device.session, "labelled");
	}

	#report(session: Session, report: StateReport, text: string): void {
		const isNamed = session.device !== undefined;
		const device = session.device ?? this.#assign(session, report.deviceId);
		const { now, monotonic } = this.#options;
		const isNews = device.report(report, text, now(), monotonic()) || !isNamed;
		if (isNews) this.#options.onChanged(session, "identified");
		if (!isNamed) this.#options.onNamed(device);
	}

	#assign(session: Session, deviceId: string): Device {
		const device = this.#devices.get(deviceId) ?? new Device(deviceId, session);
		const previous = device.session;
		session.device = device;
		device.session = session;
		device.model = session.handshake.model ?? device.model;
		device.chip = session.handshake.chip ?? device.chip;
		this.#moveToEnd(device);
		if (previous !== session) {
			this.#sessions.delete(previous.sessionId);
			this.end(previous, "replaced", { code: replacedCloseCode, reason: "replaced" });
		}
		this.#forgetSurplus();
		return device;
	}

	#moveToEnd(device: Device): void {
		this.#devices.delete(device.deviceId);
		this.#devices.set(device.deviceId, device);
	}

	#forgetSurplus(): void {
		for (const device of this.#devices.values()) {
			if (this.#devices.size <= this.#options.maxDevices) return;
			this.forget(device);
		}
	}
}
