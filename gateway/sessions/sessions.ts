/**
 * Which devices are here, which were, and what each last said. Every connection and every change passes through this
 * one class, so monitors, updates and commands can never disagree about which session is a device's current one.
 */

import type { StateReport, Uplink } from "../../device/protocol/messages.js";
import { Device, type DeviceLink, type Introduction, type OtaMetadata, Session } from "./device.js";
import type { ChangeReason, EndReason } from "./view.js";

/** Close code of a session whose device connected anew. */
const replacedCloseCode = 4001;

export interface SessionsOptions {
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Milliseconds from any start, on a clock that no one sets. */
	readonly monotonic: () => number;
	/** Devices that are remembered; past that number, those longest away are forgotten. */
	readonly maxDevices: number;
	/** A session began, was named, ended, or its device's update moved on. */
	readonly onChanged: (session: Session, reason: ChangeReason) => void;
	/** A connected device is known by its name: once a session, at its start or at its first state report. */
	readonly onNamed: (device: Device) => void;
	/** A valid uplink came; `text` is it as it came. Called after the device's record shows it. */
	readonly onUplink: (session: Session, uplink: Uplink, text: string) => void;
	/** A device is not known any more. */
	readonly onForgotten: (device: Device) => void;
}

export class Sessions {
	readonly #options: SessionsOptions;
	/** In the order in which they last came or went: of those that are away, the first is so for the longest time. */
	readonly #devices = new Map<string, Device>();
	/** Each connected session, and the latest of each device that is away. */
	readonly #sessions = new Map<string, Session>();

	constructor(options: SessionsOptions) {
		this.#options = options;
	}

	/** Every session that monitors are shown: the connected ones, and the latest of each device that is away. */
	list(): Iterable<Session> {
		return this.#sessions.values();
	}

	/** Every device that is known, by its id. */
	get devices(): ReadonlyMap<string, Device> {
		return this.#devices;
	}

	/** Takes up devices that were known before a restart, the one longest away first. */
	restore(devices: Iterable<Device>): void {
		for (const device of devices) {
			this.#devices.set(device.deviceId, device);
			this.#sessions.set(device.session.sessionId, device.session);
		}
		this.#forgetSurplus();
	}

	/** Forgets a device that is away. @returns false where it is connected: it would be known again at once */
	forget(device: Device): boolean {
		if (device.session.connected) return false;
		this.#devices.delete(device.deviceId);
		this.#sessions.delete(device.session.sessionId);
		this.#options.onForgotten(device);
		return true;
	}

	/** A device's connection stands. An older session of the same device is ended: `replaced`. */
	open(introduction: Introduction, link: DeviceLink): Session {
		const session = new Session(introduction, link, this.#options.now());
		this.#sessions.set(session.sessionId, session);
		if (introduction.deviceId !== undefined) this.#assign(session, introduction.deviceId);
		this.#options.onChanged(session, "connected");
		if (session.device) this.#options.onNamed(session.device);
		return session;
	}

	/**
	 * Takes in a checked uplink of a session that has not ended.
	 *
	 * @param text the uplink as it came
	 * @returns undefined, or a sentence that says why it does not count
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
	 * Ends a session at once; what its socket still says must not be taken in. Without effect on one that has ended.
	 *
	 * @param close the WebSocket close frame to send; left out where the socket is gone already
	 */
	end(session: Session, reason: EndReason, close?: { code: number; reason: string }): void {
		if (!session.connected) return;
		session.connected = false;
		if (close) session.link.close(close.code, close.reason);
		if (session.device?.session === session) this.#moveToEnd(session.device);
		else this.#sessions.delete(session.sessionId);
		this.#options.onChanged(session, reason);
	}

	/**
	 * The session that a monitor means.
	 *
	 * @param targetId a session's id, or a device's, which means its current session
	 * @returns a session that may have ended, or undefined where nothing goes by that id
	 */
	find(targetId: string): Session | undefined {
		return this.#sessions.get(targetId) ?? this.#devices.get(targetId)?.session;
	}

	/** Sets how a device's update stands and tells monitors: `ota`. */
	setOta(device: Device, metadata: OtaMetadata): void {
		device.metadata = metadata;
		this.#options.onChanged(device.session, "ota");
	}

	#report(session: Session, report: StateReport, text: string): void {
		const isNamed = session.device !== undefined;
		const device = session.device ?? this.#assign(session, report.deviceId);
		const { now, monotonic } = this.#options;
		const isNews = device.report(report, text, now(), monotonic()) || !isNamed;
		if (isNews) this.#options.onChanged(session, "identified");
		if (!isNamed) this.#options.onNamed(device);
	}

	/** Makes `session` the current one of the device of that name. */
	#assign(session: Session, deviceId: string): Device {
		const device = this.#devices.get(deviceId) ?? new Device(deviceId, session);
		const former = device.session;
		session.device = device;
		device.session = session;
		device.model = session.introduction.model ?? device.model;
		device.chip = session.introduction.chip ?? device.chip;
		this.#moveToEnd(device);
		if (former !== session) {
			this.#sessions.delete(former.sessionId);
			this.end(former, "replaced", { code: replacedCloseCode, reason: "replaced" });
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
