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
	type SessionFacts,
	sharedList,
} from "./device.js";
import { type ChangeReason, type EndReason, isEndReason } from "./view.js";

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
	/** @param why `surplus`: there are too many devices; `told`: another gateway has forgotten it */
	readonly onForgotten: (device: Device, why: ForgetReason) => void;
}

export type ForgetReason = "asked" | "surplus" | "told";

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

	/**
	 * Takes in a device as another gateway has stored it.
	 * @returns whether it was not known, or only from disk
	 */
	adopt(device: Device): boolean {
		const known = this.#devices.get(device.deviceId);
		const { session } = known ?? {};
		const isSame = session?.sessionId === device.session.sessionId;
		if (known && session && (session.connected || session.epoch > 0 || isSame)) {
			if (device.labelledAt > known.labelledAt) this.replaceLabel(known, device.label, device.labelledAt);
			return false;
		}
		if (session) this.#sessions.delete(session.sessionId);
		this.restore([device]);
		return true;
	}

	/** @returns false if it is connected: it would be known again at once */
	forget(device: Device, why: ForgetReason = "asked"): boolean {
		if (device.session.connected) return false;
		this.#devices.delete(device.deviceId);
		this.#sessions.delete(device.session.sessionId);
		this.#options.onForgotten(device, why);
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
	 * Takes in what another gateway tells of one of its sessions.
	 * @param link leads to that gateway
	 * @param reason why it is told; undefined: only what has begun or ended is announced
	 * @returns undefined if another session of the device stands
	 */
	mirror(told: SessionFacts, link: DeviceLink, reason?: ChangeReason): Session | undefined {
		const { sessionId, device: facts } = told;
		const named = this.#sessions.get(sessionId);
		// The same session may be known from disk, without its gateway.
		const known = named?.link.gateway === link.gateway ? named : undefined;
		const current = facts && this.#devices.get(facts.deviceId)?.session;
		const stands = !current || current === known || isNewer(told, link, current);
		if (!stands || (!known && !facts && !told.connected)) {
			if (known && known !== current) this.end(known, "replaced");
			return undefined;
		}
		const session = known ?? new Session(handshakeOf(told), link, told.connectedAt, sessionId);
		const wasConnected = known?.connected ?? false;
		session.epoch = told.epoch;
		session.lastSeenAt = told.lastSeenAt;
		session.connected = told.connected || wasConnected;
		if (facts && !session.device) this.#assign(session, facts.deviceId);
		else if (session.device && !wasConnected && told.connected) this.#moveToEnd(session.device);
		this.#sessions.set(sessionId, session);
		if (facts) session.device?.mirror(facts, this.#options.monotonic());
		if (wasConnected && !told.connected) this.end(session, isEndReason(reason) ? reason : "disconnected");
		else if (!wasConnected && told.connected) this.#options.onChanged(session, "connected");
		else if (!known) this.#options.onChanged(session, "identified");
		else if (reason && !isEndReason(reason)) this.#options.onChanged(session, reason);
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
		const { label, labelledAt } = device;
		this.replaceLabel(
			device,
			labelOf({ ...label, ...change }),
			Math.max(this.#options.now(), labelledAt + 1),
		);
	}

	/** Tells monitors too: `labelled`. @param labelledAt in milliseconds since 1970 */
	replaceLabel(device: Device, label: Label, labelledAt: number): void {
		device.label = label;
		device.labelledAt = labelledAt;
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
		if (session.link.gateway === undefined) session.epoch = 1 + (previous === session ? 0 : previous.epoch);
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

/** As far as another gateway needs it. Without a spread, for which V8 makes a hidden class of each object. */
function handshakeOf({ handshake, device }: SessionFacts): Handshake {
	return {
		deviceId: device?.deviceId,
		isBound: false,
		model: handshake.model,
		chip: handshake.chip,
		features: sharedList(handshake.features),
		remoteAddress: handshake.remoteAddress,
		baseUrl: "",
	};
}

/** Of a device's sessions at two gateways: no clock is trusted, and one that has ended is never the newer one. */
function isNewer(told: SessionFacts, { gateway }: DeviceLink, current: Session): boolean {
	if (told.connected !== current.connected && gateway !== current.link.gateway) return told.connected;
	const difference = told.epoch - current.epoch || told.connectedAt - current.connectedAt;
	return difference === 0 ? told.sessionId > current.sessionId : difference > 0;
}
