/** The events of webhooks: from what happens to sessions, roll-outs and the disk follow events, each with a sentence. */

import { networkOf } from "../access/origin.js";
import type { FrameOf } from "../api/frames.js";
import type { OtaStatus } from "../api/statuses.js";
import type { Core } from "../extension.js";
import type { Device } from "../sessions/device.js";
import type { Refusal, SessionListener } from "../sessions/sessions.js";
import { isoTime } from "../sessions/view.js";
import { findDiskProblem } from "../storage/data-folder.js";
import type { Happening, Outbox } from "./outbox.js";

/** The mark of a device whose event was added. */
const away = "away";
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** In an hour, each once: anyone can be refused under many names. */
const refusalsAtMost = 20;
/** When gateways act as one, a new one reads what the others have sent before. */
const learningMs = 10_000;

export class Watch {
	readonly #core: Core;
	readonly #outboxes: readonly Outbox[];
	/** By device that is not connected: since when this gateway has seen that, on the monotonic clock. */
	readonly #away = new Map<string, number>();
	readonly #updates = new WeakMap<Device, OtaStatus>();
	/** By roll-out. */
	readonly #rollouts = new Map<string, string>();
	/** Since `#refusedFrom`. */
	readonly #refused = new Set<string>();
	#refusedFrom = Number.NEGATIVE_INFINITY;
	#openedAt = Number.POSITIVE_INFINITY;
	#diskCheckedAt = Number.NEGATIVE_INFINITY;
	#wasFull = false;

	constructor(core: Core, outboxes: readonly Outbox[]) {
		this.#core = core;
		this.#outboxes = outboxes;
	}

	readonly sessions: SessionListener = {
		onChanged: (session, reason) => {
			const { device, link } = session;
			if (!device) return;
			this.#see(device);
			const update = this.#seeUpdate(device);
			// Of a device of another gateway that one tells it.
			if (link.isRemote) return;
			if (reason === "crash") this.#tellCrash(device);
			if (reason === "ota" && update === "rolled_back") this.#tellRollback(device);
		},
		onForgotten: ({ deviceId }) => {
			this.#away.delete(deviceId);
			for (const outbox of this.#outboxes) outbox.forget(subjectOf(deviceId));
		},
		onRefused: (refusal, isTemporary) => {
			if (refusal.what === "connection" && !isTemporary) this.#tellRefusal(refusal);
		},
	};

	/** All that are away are watched from now on: those that this gateway's start has to wait for return in time. */
	open(): void {
		this.#openedAt = this.#core.monotonic();
		for (const device of this.#core.sessions.devices.values()) {
			this.#see(device);
			this.#seeUpdate(device);
		}
	}

	/** To be called every few seconds. */
	async tick(): Promise<void> {
		const { monotonic, sessions } = this.#core;
		const now = monotonic();
		for (const [deviceId, since] of this.#away) {
			const device = sessions.devices.get(deviceId);
			for (const outbox of this.#outboxes)
				if (device && now - since >= outbox.hook.after * minuteMs) tellAway(outbox, device);
		}
		if (now - this.#diskCheckedAt >= minuteMs) await this.#checkDisk(now);
	}

	/** A frame that monitors get. */
	onRollout({ id, status, pausedBecause, counts, revision }: FrameOf<"rollout_update">): void {
		const subject = `rollout-${id}`;
		const state = `${status} ${pausedBecause}`;
		const previous = this.#rollouts.get(id);
		this.#rollouts.set(id, state);
		if (status === "deleted") {
			this.#rollouts.delete(id);
			for (const outbox of this.#outboxes) outbox.forget(subject);
		}
		const isLearning =
			previous === undefined &&
			this.#core.peers !== undefined &&
			this.#core.monotonic() - this.#openedAt < learningMs;
		if (state === previous || isLearning || (status !== "paused" && status !== "finished")) return;
		const why = pausedBecause && ` (${pausedBecause})`;
		const failed = counts.failed + counts.rolled_back + counts.timed_out;
		const text = `Roll-out ${id} is ${status}${why ?? ""}: ${counts.succeeded} updated, ${failed} failed.`;
		this.#tellAll(
			subject,
			{ event: `rollout_${status}`, text, rollout: { id, status, pausedBecause, counts } },
			// Each gateway gets the frame.
			(mark) => (Number(mark) >= revision ? undefined : String(revision)),
		);
	}

	#see(device: Device): void {
		const { deviceId, session } = device;
		if (!session.connected) {
			if (!this.#away.has(deviceId)) this.#away.set(deviceId, this.#core.monotonic());
			return;
		}
		this.#away.delete(deviceId);
		const subject = subjectOf(deviceId);
		for (const outbox of this.#outboxes) {
			if (outbox.markOf(subject) !== away) continue;
			const happening: Happening = {
				event: "back",
				text: `${nameOf(device)} is back.`,
				device: headOf(device),
			};
			outbox.add(subject, happening, (mark) => (mark === away ? "" : undefined));
		}
	}

	/** @returns the status of its update if that has changed */
	#seeUpdate(device: Device): OtaStatus | undefined {
		const { otaStatus } = device.metadata;
		const isNews = this.#updates.get(device) !== otaStatus;
		this.#updates.set(device, otaStatus);
		return isNews ? otaStatus : undefined;
	}

	#tellCrash(device: Device): void {
		const { id, kind, version } = device.crashes.at(-1) ?? {};
		const text = `${nameOf(device)} has crashed (${kind}).`;
		this.#tellDevice(device, { event: "crashed", text, crash: { id, kind, version: version || null } });
	}

	#tellRollback(device: Device): void {
		const { otaVersion: version, otaReason: reason } = device.metadata;
		const text = `${nameOf(device)} has rolled back ${version ?? "an update"}: ${reason}`;
		this.#tellDevice(device, { event: "rolled_back", text, version, reason });
	}

	#tellDevice(device: Device, happening: Happening): void {
		this.#tellAll(subjectOf(device.deviceId), { ...happening, device: headOf(device) }, unchanged);
	}

	#tellRefusal({ deviceId, remoteAddress, reason }: Refusal): void {
		const now = this.#core.monotonic();
		if (now - this.#refusedFrom >= hourMs) {
			this.#refusedFrom = now;
			this.#refused.clear();
		}
		const key = JSON.stringify([deviceId ?? networkOf(remoteAddress), reason]);
		if (this.#refused.has(key) || this.#refused.size >= refusalsAtMost) return;
		this.#refused.add(key);
		const text = `${deviceId ?? "A client"} at ${remoteAddress} was refused: ${reason}`;
		this.#tellAll(
			"refusals",
			{ event: "refused", text, deviceId: deviceId ?? null, remoteAddress, reason },
			unchanged,
		);
	}

	async #checkDisk(now: number): Promise<void> {
		this.#diskCheckedAt = now;
		const { disk, settings, deviceStore, firmware } = this.#core;
		const problem =
			deviceStore.readinessProblem ??
			firmware.updates.readinessProblem ??
			(await findDiskProblem(disk, settings.dataDir));
		if (problem !== undefined && !this.#wasFull)
			this.#tellAll("disk", { event: "disk_full", text: problem }, unchanged);
		this.#wasFull = problem !== undefined;
	}

	#tellAll(subject: string, happening: Happening, turn: (mark: string) => string | undefined): void {
		for (const outbox of this.#outboxes) outbox.add(subject, happening, turn);
	}
}

const unchanged = (mark: string) => mark;

function tellAway(outbox: Outbox, device: Device): void {
	const subject = subjectOf(device.deviceId);
	if (outbox.markOf(subject) === away) return;
	const since = isoTime(device.session.lastSeenAt);
	const text = `${nameOf(device)} has been away since ${since}.`;
	const happening: Happening = { event: "away", text, since, device: headOf(device) };
	outbox.add(subject, happening, (mark) => (mark === away ? undefined : away));
}

function subjectOf(deviceId: string): string {
	return `device-${deviceId}`;
}

/** For people. */
function nameOf({ label: { name, room }, deviceId }: Device): string {
	const place = room === undefined ? "" : ` in ${room}`;
	return `${name ?? deviceId}${place}`;
}

function headOf({ deviceId, label: { name, room }, model, firmwareVersion }: Device) {
	return { deviceId, name: name ?? null, room: room ?? null, model: model ?? null, firmwareVersion };
}
