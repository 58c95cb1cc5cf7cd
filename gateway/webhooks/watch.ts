/** Creates webhook events, each with a sentence, from changes of sessions, rollouts and the disk. */

import { networkOf } from "../access/origin.js";
import type { FrameOf } from "../api/frames.js";
import type { OtaStatus } from "../api/statuses.js";
import { matchesTags } from "../api/tags.js";
import type { CrashCause, Listeners, ScheduleFailure } from "../events.js";
import type { Core } from "../extension.js";
import type { Device } from "../sessions/device.js";
import type { Rejection } from "../sessions/sessions.js";
import { isoTime } from "../sessions/view.js";
import type { Outbox, WebhookEvent } from "./outbox.js";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Limit of distinct rejections per hour, as anyone can be rejected under many names. */
const maxRejections = 20;
/** Time in which a new gateway of a cluster reads past events. */
const learningMs = 10_000;

export class Watch {
	readonly #core: Core;
	readonly #outboxes: readonly Outbox[];
	/** Monotonic time at which this gateway first saw a device offline, by device id. */
	readonly #away = new Map<string, number>();
	/** Latest update status of devices. */
	readonly #statuses = new WeakMap<Device, OtaStatus>();
	/** Latest state by rollout id. */
	readonly #rollouts = new Map<string, string>();
	/** Rejections since `#rejectedFrom`. */
	readonly #rejected = new Set<string>();
	#rejectedFrom = Number.NEGATIVE_INFINITY;
	#openedAt = Number.POSITIVE_INFINITY;
	#diskCheckedAt = Number.NEGATIVE_INFINITY;
	#wasFull = false;

	constructor(core: Core, outboxes: readonly Outbox[]) {
		this.#core = core;
		this.#outboxes = outboxes;
	}

	readonly listeners: Listeners = {
		sessionChanged: ({ device }) => {
			if (device) this.#see(device);
		},
		ownSessionChanged: ({ device, connected }) => {
			if (!device) return;
			if (connected) this.#notifyBack(device);
			const previous = this.#statuses.get(device);
			const { otaStatus, otaVersion: version, otaReason } = device.metadata;
			// Unknown while the gateway loads its data.
			if (otaStatus === "rolled_back" && previous !== undefined && previous !== otaStatus) {
				const text = `has rolled back ${version ?? "an update"}: ${otaReason}`;
				this.#notifyOf(device, "rolled_back", text, { version, reason: otaReason });
			}
		},
		deviceForgotten: ({ deviceId }) => {
			this.#away.delete(deviceId);
			for (const outbox of this.#outboxes) outbox.removeMark(awayMark(deviceId));
		},
		crash: (device, { id, kind, firmware_version: version }) => {
			const crash = { id, kind, version: version || null };
			this.#notifyOf(device, "crashed", `has crashed (${kind}).`, { crash });
		},
		crashCause: (device, cause) => this.#onCrashCause(device, cause),
		rollout: (rollout) => this.#onRollout(rollout),
		scheduleFailed: (failure) => this.#onSchedule(failure),
		rejected: (rejection, isTemporary) => {
			if (rejection.what === "connection" && !isTemporary) this.#notifyRejection(rejection);
		},
	};

	/** Tracks all offline devices from now on, so that those reconnecting after the gateway's start do so in time. */
	open(): void {
		this.#openedAt = this.#core.monotonic();
		for (const device of this.#core.sessions.devices.values()) this.#see(device);
	}

	/** Must be called every few seconds. */
	async tick(): Promise<void> {
		const now = this.#core.monotonic();
		for (const [deviceId, seen] of this.#away) {
			const device = this.#core.sessions.devices.get(deviceId);
			if (!device) continue;
			const mark = awayMark(deviceId);
			const isDue = (outbox: Outbox) => now - seen >= outbox.hook.after * minuteMs && !outbox.has(mark);
			const due = this.#outboxesOf(device).filter(isDue);
			const since = isoTime(device.session.lastSeenAt);
			this.#notifyOf(device, "away", `has been away since ${since}.`, { since }, due, mark);
		}
		if (now - this.#diskCheckedAt >= minuteMs) await this.#checkDisk(now);
	}

	#onCrashCause(device: Device, { version, message, frames, ...cause }: CrashCause): void {
		const where = frames[0] === undefined ? "" : ` in ${frames[0]}`;
		const text = `has crashed in a new way on ${version || "an unknown version"}: ${message}${where}.`;
		this.#notifyOf(device, "crash_new", text, {
			cause: { ...cause, message, frames, version: version || null },
		});
	}

	#onSchedule(schedule: ScheduleFailure): void {
		const { id, name, outcome, dueAt, reason } = schedule;
		const what = outcome === "missed" ? "was missed" : "has failed";
		const text = `The schedule ${name ?? id}, due at ${dueAt}, ${what}: ${reason}`;
		this.#notify(`schedule-${id}`, { event: "schedule_failed", text, schedule });
	}

	/** Sends a rollout event on each gateway. */
	#onRollout({ id, status, pausedBecause, counts, revision }: FrameOf<"rollout_update">): void {
		const state = `${status} ${pausedBecause}`;
		const previous = this.#rollouts.get(id);
		this.#rollouts.set(id, state);
		if (status === "deleted") {
			this.#rollouts.delete(id);
			for (const outbox of this.#outboxes) outbox.removeMarks(`rollout-${id}-`);
		}
		const { peers, monotonic } = this.#core;
		const isLearning = !previous && peers.bus && monotonic() - this.#openedAt < learningMs;
		if (state === previous || isLearning || (status !== "paused" && status !== "finished")) return;
		const why = pausedBecause ? ` (${pausedBecause})` : "";
		const failed = counts.failed + counts.rolled_back + counts.timed_out;
		const text = `Rollout ${id} is ${status}${why}: ${counts.succeeded} updated, ${failed} failed.`;
		const rollout = { id, status, pausedBecause, counts };
		this.#notify(`rollout-${id}`, { event: `rollout_${status}`, text, rollout }, `rollout-${id}-${revision}`);
	}

	#see(device: Device): void {
		const { deviceId, session, metadata } = device;
		this.#statuses.set(device, metadata.otaStatus);
		if (session.connected) this.#away.delete(deviceId);
		else if (!this.#away.has(deviceId)) this.#away.set(deviceId, this.#core.monotonic());
	}

	#notifyBack(device: Device): void {
		const { deviceId } = device;
		const told = this.#outboxes.filter((outbox) => outbox.removeMark(awayMark(deviceId)));
		this.#notifyOf(device, "back", "is back.", {}, told);
	}

	#notifyRejection({ deviceId, remoteAddress, reason }: Rejection): void {
		const now = this.#core.monotonic();
		if (now - this.#rejectedFrom >= hourMs) {
			this.#rejectedFrom = now;
			this.#rejected.clear();
		}
		const key = JSON.stringify([deviceId ?? networkOf(remoteAddress), reason]);
		if (this.#rejected.has(key) || this.#rejected.size >= maxRejections) return;
		this.#rejected.add(key);
		const text = `${deviceId ?? "A client"} at ${remoteAddress} was rejected: ${reason}`;
		this.#notify("rejections", {
			event: "rejected",
			text,
			deviceId: deviceId ?? null,
			remoteAddress,
			reason,
		});
	}

	async #checkDisk(now: number): Promise<void> {
		this.#diskCheckedAt = now;
		const text = await this.#core.findStorageProblem();
		if (text !== undefined && !this.#wasFull) this.#notify("disk", { event: "disk_full", text });
		this.#wasFull = text !== undefined;
	}

	/** Returns the outboxes that receive events of a device. */
	#outboxesOf({ label }: Device): readonly Outbox[] {
		return this.#outboxes.filter(({ hook: { tags } }) => !tags || matchesTags(tags.expression, label.tags));
	}

	/** @param text follows the device name */
	#notifyOf(
		device: Device,
		event: WebhookEvent["event"],
		text: string,
		fields: object,
		outboxes = this.#outboxesOf(device),
		mark?: string,
	): void {
		const { deviceId, model = null, firmwareVersion } = device;
		const { name = null, room = null, tags = [] } = device.label;
		const sentence = `${name ?? deviceId}${room === null ? "" : ` in ${room}`} ${text}`;
		const shown = { deviceId, name, room, tags, model, firmwareVersion };
		this.#notify(`device-${deviceId}`, { event, text: sentence, ...fields, device: shown }, mark, outboxes);
	}

	#notify(subject: string, event: WebhookEvent, mark?: string, outboxes = this.#outboxes): void {
		for (const outbox of outboxes)
			outbox
				.add(subject, event, mark)
				.catch((error: unknown) => this.#core.log.error({ err: error }, "webhooks"));
	}
}

/** Mark of a device reported as away. */
function awayMark(deviceId: string): string {
	return `away-${deviceId}`;
}
