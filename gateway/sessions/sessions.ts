/**
 * Registry of all known devices and their sessions. All changes pass through this class, so that all parts of the gateway
 * agree on a device's current session.
 */

import type { StateReport, Uplink } from "../../device/protocol/messages.js";
import type { ChangeReason } from "../api/frames.js";
import { noLabel } from "../api/label.js";
import type { OtaMetadata } from "../api/update.js";
import type { Base } from "../base.js";
import type { EventBus, ListenersOf } from "../event-bus.js";
import { requireFound } from "../problem.js";
import { Device, type DeviceLink, type Handshake, Session } from "./device.js";
import type { EndReason } from "./view.js";

/** Close code of a session whose device has connected again. */
const replacedCloseCode = 4001;
/** Close code of a board whose id belongs to another one. */
const duplicateCloseCode = 4002;

export interface SessionsOptions extends Pick<Base, "now" | "monotonic"> {
	readonly events: Pick<EventBus<SessionEvents>, "emit">;
	/** Limit at which new devices are rejected, unless one that has neither reported nor a label can be forgotten. */
	readonly maxDevices: number;
}

/** Rejected connection or uplink, or a failure without a device that needs attention. */
export interface Rejection {
	/** `webhook`: the receiver rejects further events. `schedule`: it failed or was missed. */
	readonly what: "connection" | "report" | "webhook" | "schedule";
	/** Unverified header `Device-Id`. */
	readonly deviceId: string | undefined;
	/** Address of the client, origin of the webhook's URL, or name of the schedule. */
	readonly remoteAddress: string;
	/** One sentence. */
	readonly reason: string;
}

/** Parameters of the listeners, by event. */
export interface SessionEvents {
	/** Like `sessionChanged` and before it, only for sessions of devices connected to this gateway. */
	ownSessionChanged: [session: Session, reason: ChangeReason];
	/** A session was opened, identified or ended, its device's update or label changed, or a crash was stored. */
	sessionChanged: [session: Session, reason: ChangeReason];
	/** A device was identified, once per session. */
	deviceIdentified: [device: Device];
	/** Data of a device other than its session record has changed. */
	deviceChanged: [device: Device];
	/** A device was forgotten: `requested` by a person; `surplus`: too many devices; `removed`: another gateway removed it. */
	deviceForgotten: [device: Device, why: ForgetReason];
	/** A valid uplink, after it was applied to the session. @param text uplink as received, in UTF-8 */
	uplink: [session: Session, uplink: Uplink, text: Buffer];
	/** An uplink of a device connected to another gateway, which has validated it. @param text UTF-8 */
	uplinkRelayed: [session: Session, text: Buffer, isStateReport: boolean];
	/** A rejected connection or uplink. @param isTemporary whether the response had `Retry-After` */
	rejected: [rejection: Rejection, isTemporary: boolean];
}

export type SessionListeners = ListenersOf<SessionEvents>;

export type ForgetReason = "requested" | "surplus" | "removed";

export class Sessions {
	readonly #options: SessionsOptions;
	readonly #events: SessionsOptions["events"];
	/** Devices by id, in the order of their latest connect or disconnect. */
	readonly #devices = new Map<string, Device>();
	/** Sessions by id, in the order of `list`. */
	readonly #sessions = new Map<string, Session>();

	constructor(options: SessionsOptions) {
		this.#options = options;
		this.#events = options.events;
	}

	/** Emits the change of a session record. */
	announce(session: Session, reason: ChangeReason): void {
		if (!session.link.isRemote) this.#events.emit("ownSessionChanged", session, reason);
		this.#events.emit("sessionChanged", session, reason);
	}

	/** Returns connected sessions, and the latest session of each disconnected device. */
	list(): Iterable<Session> {
		return this.#sessions.values();
	}

	/** Known devices by id. */
	get devices(): ReadonlyMap<string, Device> {
		return this.#devices;
	}

	/** Reason for which new devices are rejected, as a sentence; undefined: there is room. */
	get fullReason(): string | undefined {
		const { maxDevices } = this.#options;
		if (this.#devices.size < maxDevices) return undefined;
		for (const device of this.#devices.values()) if (isDispensable(device)) return undefined;
		return `The gateway knows ${maxDevices.toLocaleString("en")} devices, the maximum, and rejects new ones. Forget devices that are no longer used.`;
	}

	/** Adds stored devices, even above the limit. @param devices least recently seen first */
	restore(devices: Iterable<Device>): void {
		for (const device of devices) {
			this.#devices.set(device.deviceId, device);
			this.#sessions.set(device.session.sessionId, device.session);
		}
	}

	/** Forgets a disconnected device. @returns false if it is connected, since its next report would add it again */
	forget(device: Device, why: ForgetReason = "requested"): boolean {
		if (device.session.connected) return false;
		this.#devices.delete(device.deviceId);
		this.#sessions.delete(device.session.sessionId);
		this.#events.emit("deviceForgotten", device, why);
		return true;
	}

	/**
	 * Opens the session of a new connection. An older session of the same device ends as `replaced`, but while two boards
	 * have one id, only once a report shows that this is the known board.
	 */
	open(handshake: Handshake, link: DeviceLink): Session {
		const session = new Session(handshake, link, this.#options.now());
		this.#sessions.set(session.sessionId, session);
		const { deviceId } = handshake;
		const isContested = this.#devices.get(deviceId ?? "")?.duplicateAt(session.connectedAt) !== undefined;
		if (deviceId !== undefined && !isContested) this.#assign(session, deviceId);
		this.announce(session, "connected");
		if (session.device) this.#events.emit("deviceIdentified", session.device);
		return session;
	}

	/**
	 * Adds or updates a session of another process. An older session of its device ends as `replaced`.
	 * @param deviceId undefined: not identified yet
	 */
	put(session: Session, deviceId: string | undefined): void {
		if (deviceId !== undefined && !session.device) this.#assign(session, deviceId);
		else if (session.device && session.connected) this.#moveToEnd(session.device);
		this.#sessions.set(session.sessionId, session);
	}

	/**
	 * Applies a valid uplink.
	 * @param text uplink as received, in UTF-8
	 * @returns reason for which it is rejected; undefined if it is accepted
	 */
	receive(session: Session, uplink: Uplink, text: Buffer): string | undefined {
		const deviceId = session.device?.deviceId ?? session.handshake.deviceId;
		if ("deviceId" in uplink && deviceId !== undefined && uplink.deviceId !== deviceId)
			return `${uplink.type}: deviceId must be ${deviceId}, the device of this connection`;
		const duplicate = uplink.type === "state_report" ? this.#rejectDuplicate(session, uplink) : undefined;
		if (duplicate !== undefined) return duplicate;
		session.lastSeenAt = this.#options.now();
		if (uplink.type === "state_report") this.#report(session, uplink, text);
		if (uplink.type === "settings_result" && uplink.outcome === "kept" && session.device)
			session.device.settingsKeptAt = session.lastSeenAt;
		this.#events.emit("uplink", session, uplink, text);
		return undefined;
	}

	/** Ends a session that has not ended. @param close close frame to send; undefined: the socket is closed already */
	end(session: Session, reason: EndReason, close?: { code: number; reason: string }): void {
		if (!session.connected) return;
		session.connected = false;
		if (close) session.link.close(close.code, close.reason);
		if (session.device?.session === session) this.#moveToEnd(session.device);
		else this.#sessions.delete(session.sessionId);
		this.announce(session, reason);
	}

	/** @param targetId id of a session, or of a device for its latest session */
	find(targetId: string): Session | undefined {
		return this.#sessions.get(targetId) ?? this.#devices.get(targetId)?.session;
	}

	/** @throws {RequestError} 404 */
	require(deviceId: string): Device {
		return requireFound(
			this.#devices.get(deviceId),
			`Device ${deviceId} not found. GET /api/devices lists all.`,
		);
	}

	/** Sets the status of a device's update, and announces it with the reason `ota`. */
	setOta(device: Device, metadata: OtaMetadata): void {
		device.metadata = metadata;
		this.announce(device.session, "ota");
	}

	#report(session: Session, report: StateReport, text: Buffer): void {
		const wasIdentified = session.device !== undefined;
		const device = session.device ?? this.#assign(session, report.deviceId);
		const { now, monotonic } = this.#options;
		const hasChanged = device.report(report, text, now(), monotonic());
		if (hasChanged || !wasIdentified) this.announce(session, "identified");
		if (!wasIdentified) this.#events.emit("deviceIdentified", device);
	}

	/** Ends the session of a board whose id belongs to another one. @returns why; undefined: no other board has it */
	#rejectDuplicate(session: Session, { deviceId, system }: StateReport): string | undefined {
		const device = this.#devices.get(deviceId);
		const macAddress = system.mac_address.toLowerCase();
		if (!device?.macAddress || session.device?.hasReported || device.macAddress === macAddress)
			return undefined;
		const reason = device.onDuplicate(macAddress, this.#options.now());
		this.end(session, "disconnected", {
			code: duplicateCloseCode,
			reason: "another board has this device id",
		});
		this.#events.emit("deviceChanged", device);
		return reason;
	}

	/** Makes a session the current one of a device. */
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
			if (isDispensable(device)) this.forget(device, "surplus");
		}
	}
}

/** Whether a device can be forgotten to make room: anyone with the device token can add devices. */
function isDispensable({ session, lastReportAt, label }: Device): boolean {
	return !session.connected && lastReportAt === 0 && label === noLabel;
}
