/**
 * All known devices and their sessions. Every change passes through this class, so all parts agree about a device's
 * current session.
 */

import type { StateReport, Uplink } from "../../device/protocol/messages.js";
import type { ChangeReason } from "../api/frames.js";
import type { OtaMetadata } from "../api/update.js";
import type { Base } from "../base.js";
import { Device, type DeviceLink, type Handshake, Session } from "./device.js";
import type { EndReason } from "./view.js";

/** The device has connected again. */
const replacedCloseCode = 4001;

export interface SessionsOptions extends Pick<Base, "now" | "monotonic"> {
	/** Beyond it, the devices longest away are forgotten. */
	readonly maxDevices: number;
}

/** A refused connection or uplink, or a failure beside devices that a person should know of. */
export interface Rejection {
	/** `webhook`: a receiver wants no more events. `schedule`: it has failed, or was missed. */
	readonly what: "connection" | "report" | "webhook" | "schedule";
	/** From the header `Device-Id`, unverified. */
	readonly deviceId: string | undefined;
	/** The origin of a webhook's address; the name of a schedule. */
	readonly remoteAddress: string;
	/** One sentence. */
	readonly reason: string;
}

/** Listeners are called in the order in which they were added. */
export interface SessionListener {
	/** A session was opened, named or ended, its device's update or label changed, or a crash was stored. */
	onChanged?(session: Session, reason: ChangeReason): void;
	/** Called before `onChanged`, only for sessions of devices connected to this process. */
	onOwnChanged?(session: Session, reason: ChangeReason): void;
	/** Called once per session of an identified device. */
	onIdentified?(device: Device): void;
	/** Another change of a device. */
	onDeviceChanged?(device: Device): void;
	/** @param isTemporary the answer says when to try again */
	onRejected?(rejection: Rejection, isTemporary: boolean): void;
	/** `text` is as received, in UTF-8; `session` is up to date. */
	onUplink?(session: Session, uplink: Uplink, text: Buffer): void;
	/** An uplink of a device that is connected to another process, which has checked it. `text` is in UTF-8. */
	onRelayed?(session: Session, text: Buffer, isStateReport: boolean): void;
	/** @param why `surplus`: too many devices; `removed`: another process removed its record */
	onForgotten?(device: Device, why: ForgetReason): void;
}

export type ForgetReason = "asked" | "surplus" | "removed";

export class Sessions {
	readonly #options: SessionsOptions;
	readonly #listeners: SessionListener[] = [];
	/** In the order of the latest connect or disconnect. */
	readonly #devices = new Map<string, Device>();
	/** Sessions by id, in the order of `list`. */
	readonly #sessions = new Map<string, Session>();

	constructor(options: SessionsOptions) {
		this.#options = options;
	}

	listen(listener: SessionListener): void {
		this.#listeners.push(listener);
	}

	/** For a change made outside of this class. */
	announce(session: Session, reason: ChangeReason): void {
		for (const listener of this.#listeners) {
			if (!session.link.isRemote) listener.onOwnChanged?.(session, reason);
			listener.onChanged?.(session, reason);
		}
	}

	/** Calls `onDeviceChanged` of all listeners. */
	notifyChanged(device: Device): void {
		for (const listener of this.#listeners) listener.onDeviceChanged?.(device);
	}

	reportRejection(rejection: Rejection, isTemporary = false): void {
		for (const listener of this.#listeners) listener.onRejected?.(rejection, isTemporary);
	}

	/** Connected sessions, and the latest session of each device that is away. */
	list(): Iterable<Session> {
		return this.#sessions.values();
	}

	/** By device id. */
	get devices(): ReadonlyMap<string, Device> {
		return this.#devices;
	}

	/** @param devices from disk, longest away first */
	restore(devices: Iterable<Device>): void {
		for (const device of devices) {
			this.#devices.set(device.deviceId, device);
			this.#sessions.set(device.session.sessionId, device.session);
		}
		this.#forgetSurplus();
	}

	/** @returns false if it is connected: it would soon be known again */
	forget(device: Device, why: ForgetReason = "asked"): boolean {
		if (device.session.connected) return false;
		this.#devices.delete(device.deviceId);
		this.#sessions.delete(device.session.sessionId);
		for (const listener of this.#listeners) listener.onForgotten?.(device, why);
		return true;
	}

	/** An older session of the same device ends as `replaced`. */
	open(handshake: Handshake, link: DeviceLink): Session {
		const session = new Session(handshake, link, this.#options.now());
		this.#sessions.set(session.sessionId, session);
		if (handshake.deviceId !== undefined) this.#assign(session, handshake.deviceId);
		this.announce(session, "connected");
		if (session.device) this.#named(session.device);
		return session;
	}

	/**
	 * Adds a session whose connection another part has; an older one of its device ends as `replaced`.
	 * @param deviceId undefined: not named yet
	 */
	put(session: Session, deviceId: string | undefined): void {
		if (deviceId !== undefined && !session.device) this.#assign(session, deviceId);
		else if (session.device && session.connected) this.#moveToEnd(session.device);
		this.#sessions.set(session.sessionId, session);
	}

	/** @param uplink checked @param text as received, in UTF-8 @returns why it is not valid; undefined if it is */
	receive(session: Session, uplink: Uplink, text: Buffer): string | undefined {
		if ("deviceId" in uplink && session.device && uplink.deviceId !== session.device.deviceId)
			return `${uplink.type}: deviceId must be ${session.device.deviceId}, as this connection was named`;
		session.lastSeenAt = this.#options.now();
		if (uplink.type === "state_report") this.#report(session, uplink, text);
		if (uplink.type === "settings_result" && uplink.outcome === "kept" && session.device)
			session.device.settingsKeptAt = session.lastSeenAt;
		for (const listener of this.#listeners) listener.onUplink?.(session, uplink, text);
		return undefined;
	}

	/** Another process has received an uplink. */
	relay(session: Session, text: Buffer, isStateReport: boolean): void {
		for (const listener of this.#listeners) listener.onRelayed?.(session, text, isStateReport);
	}

	/** No effect if it has ended. @param close frame to send; absent if the socket is closed */
	end(session: Session, reason: EndReason, close?: { code: number; reason: string }): void {
		if (!session.connected) return;
		session.connected = false;
		if (close) session.link.close(close.code, close.reason);
		if (session.device?.session === session) this.#moveToEnd(session.device);
		else this.#sessions.delete(session.sessionId);
		this.announce(session, reason);
	}

	/** @param targetId a session's id, or a device's for its latest session */
	find(targetId: string): Session | undefined {
		return this.#sessions.get(targetId) ?? this.#devices.get(targetId)?.session;
	}

	/** Announces `ota`. */
	setOta(device: Device, metadata: OtaMetadata): void {
		device.metadata = metadata;
		this.announce(device.session, "ota");
	}

	#report(session: Session, report: StateReport, text: Buffer): void {
		const isNamed = session.device !== undefined;
		const device = session.device ?? this.#assign(session, report.deviceId);
		const { now, monotonic } = this.#options;
		const isNews = device.report(report, text, now(), monotonic()) || !isNamed;
		if (isNews) this.announce(session, "identified");
		if (!isNamed) this.#named(device);
	}

	#named(device: Device): void {
		for (const listener of this.#listeners) listener.onIdentified?.(device);
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
			this.forget(device, "surplus");
		}
	}
}
