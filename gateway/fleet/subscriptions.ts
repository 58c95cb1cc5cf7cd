/**
 * Subscriptions of monitors: the summary of all devices, and changes and uplinks of selected ones, instead of
 * all messages. Otherwise a page with 5,000 devices would receive 1,000 reports a second.
 */

import type { Infer } from "../../device/protocol/schema.js";
import { TokenBucket } from "../access/rates.js";
import type { ChangeReason } from "../api/frames.js";
import type { Listeners } from "../events.js";
import type { Device, Session } from "../sessions/device.js";
import { statusUpdateText } from "../sessions/view.js";
import type { Monitor } from "../sockets/monitor.js";
import { messageKind, type Outcome, rejectMessage } from "../sockets/monitor-commands.js";
import { textFrame } from "../sockets/text-frame.js";
import type { Issues } from "./issues.js";
import type { FleetCore } from "./limits.js";
import { subscribe } from "./messages.js";
import { Summary, summaryText } from "./summary.js";

export class Subscriptions {
	readonly #core: FleetCore;
	readonly #issues: Pick<Issues, "of">;
	/** Set while any monitor subscribes to it. */
	#summary: Summary | undefined;
	/** Rate limiter of snapshots per monitor. */
	readonly #rates = new WeakMap<Monitor, TokenBucket>();

	constructor(core: FleetCore, issues: Pick<Issues, "of">) {
		this.#core = core;
		this.#issues = issues;
	}

	/** Executes the message `subscribe`. */
	readonly execute = messageKind(subscribe, (message, monitor) => this.#subscribe(monitor, message));

	/** Sends a monitor that requested the summary in its URL its first frames. */
	sendFirst(monitor: Monitor): void {
		monitor.devices = new Set();
		this.#sendSummary(monitor);
		this.#sendNameless(monitor);
	}

	readonly listeners: Listeners = {
		sessionChanged: ({ device }) => this.#touch(device),
		uplink: ({ device }) => this.#touch(device),
		deviceChanged: (device) => this.#touch(device),
		deviceForgotten: (device) => this.#touch(device),
	};

	close(): void {
		this.#summary?.close();
		this.#summary = undefined;
	}

	#touch(device: Device | undefined): void {
		if (device) this.#summary?.touch(device.deviceId);
	}

	async #subscribe(monitor: Monitor, { summary, devices = [] }: Infer<typeof subscribe>): Promise<Outcome> {
		const { sessions, monitors, limits } = this.#core;
		const previous = monitor.devices;
		const isOther = previous === undefined || summary !== (monitor.summary !== undefined);
		if (isOther && summary && !this.#mayHaveSummary(monitor))
			return rejectMessage(
				"rate_limited",
				`summary limited to ${limits.summariesASecond} a second; try again later`,
			);
		monitor.devices = new Set(devices);
		if (isOther && summary) this.#sendSummary(monitor);
		else if (isOther) {
			monitor.summary = undefined;
			// Cancels the remainder of the previous snapshot.
			monitor.sendSnapshot([].values());
		}
		monitors.onSubscriptionChanged();
		if (isOther && summary) this.#sendNameless(monitor);
		const added = [...monitor.devices].filter((id) => isOther || !previous.has(id));
		await this.#core.peers.fetchReports(added);
		for (const id of added) {
			const session = sessions.devices.get(id)?.session;
			if (session && monitor.devices.has(id)) this.#sendChange(monitor, session, "identified");
		}
		return { command: "subscribe" };
	}

	/** Limits the rate, as a snapshot takes as long as hundreds of reports. */
	#mayHaveSummary(monitor: Monitor): boolean {
		const { summariesASecond: perSecond, summaryBurst: burst } = this.#core.limits;
		const { monotonic } = this.#core;
		const bucket = this.#rates.get(monitor) ?? new TokenBucket({ perSecond, burst, monotonic });
		this.#rates.set(monitor, bucket);
		return bucket.take();
	}

	#sendChange(monitor: Monitor, session: Session, reason: ChangeReason): void {
		const text = statusUpdateText(reason, session, this.#core.now());
		monitor.sendChange(session.sessionId, textFrame(text));
	}

	/** Sends sessions without a device, which no summary contains. */
	#sendNameless(monitor: Monitor): void {
		for (const session of this.#core.sessions.list())
			if (!session.device) this.#sendChange(monitor, session, "connected");
	}

	#sendSummary(monitor: Monitor): void {
		this.#summary ??= this.#openSummary();
		monitor.summary = this.#summary;
		monitor.sendSnapshot(this.#summary.snapshot());
	}

	#openSummary(): Summary {
		const { sessions, monitors, now, limits } = this.#core;
		return new Summary({
			devices: sessions.devices,
			textOf: (device) => summaryText(device, this.#issues),
			now,
			pauseMs: limits.summaryPauseMs,
			isNeeded: () => {
				const isNeeded = Array.from(monitors.list()).some(({ summary }) => summary);
				if (!isNeeded) this.#summary = undefined;
				return isNeeded;
			},
			onFrame: (frame) => {
				monitors.cork();
				for (const monitor of monitors.list()) if (monitor.summary) monitor.sendSummary(frame);
			},
		});
	}
}
