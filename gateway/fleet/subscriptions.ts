/**
 * What monitors subscribe to in place of everything: the summary of all devices, and the changes and uplinks of some. A
 * page of 5,000 devices would otherwise get 1,000 reports a second.
 */

import type { Infer } from "../../device/protocol/schema.js";
import type { ChangeReason } from "../api/frames.js";
import type { Core } from "../extension.js";
import { TokenBucket } from "../rates.js";
import type { Session } from "../sessions/device.js";
import type { SessionListener } from "../sessions/sessions.js";
import { statusUpdateText } from "../sessions/view.js";
import type { Monitor } from "../sockets/monitor.js";
import { messageKind, type Outcome, refuse } from "../sockets/monitor-commands.js";
import type { Attentions } from "./attention.js";
import { subscribe } from "./messages.js";
import { Summary, summaryText } from "./summary.js";

export class Subscriptions {
	readonly #core: Core;
	readonly #attentions: Pick<Attentions, "of">;
	/** Undefined while no monitor subscribes to it: then it costs nothing. */
	#summary: Summary | undefined;
	/** Bounds how often each monitor may ask for the whole summary. */
	readonly #summaries = new WeakMap<Monitor, TokenBucket>();

	constructor(core: Core, attentions: Pick<Attentions, "of">) {
		this.#core = core;
		this.#attentions = attentions;
	}

	/** Executes the message `subscribe`. */
	readonly execute = messageKind(subscribe, (message, monitor) => this.#subscribe(monitor, message));

	readonly sessions: SessionListener = {
		onChanged: ({ device }) => this.#touch(device?.deviceId),
		onUplink: ({ device }) => this.#touch(device?.deviceId),
		onTouched: ({ deviceId }) => this.#touch(deviceId),
		onForgotten: ({ deviceId }) => this.#touch(deviceId),
	};

	/** To be called when a monitor has gone. The summary ends with the last one that subscribes to it. */
	onMonitorsChanged(): void {
		for (const { summary } of this.#core.monitors.list()) if (summary) return;
		this.close();
	}

	close(): void {
		this.#summary?.close();
		this.#summary = undefined;
	}

	#touch(deviceId: string | undefined): void {
		if (deviceId !== undefined) this.#summary?.touch(deviceId);
	}

	async #subscribe(monitor: Monitor, { summary, devices = [] }: Infer<typeof subscribe>): Promise<Outcome> {
		const { sessions, monitors, limits, now } = this.#core;
		const previous = monitor.devices;
		const isOther = previous === undefined || summary !== (monitor.summary !== undefined);
		if (isOther && summary && !this.#mayHaveSummary(monitor))
			return refuse("rate_limited", `switch the summary on at most ${limits.summariesASecond} time a second`);
		monitor.devices = new Set(devices);
		if (isOther) {
			monitor.summary = summary ? this.#openSummary() : undefined;
			// In place of what is left of the previous one.
			monitor.sendSnapshot(monitor.summary?.snapshot() ?? [].values());
		}
		monitors.changed();
		const send = (session: Session, reason: ChangeReason) =>
			monitor.sendChange(session.sessionId, Buffer.from(statusUpdateText(reason, session, now())));
		if (isOther && summary)
			for (const session of sessions.list()) if (!session.device) send(session, "connected");
		const added = [...monitor.devices].filter((id) => isOther || !previous.has(id));
		await monitors.gather(added);
		for (const id of added) {
			const session = sessions.devices.get(id)?.session;
			if (session && monitor.devices.has(id)) send(session, "identified");
		}
		return { command: "subscribe" };
	}

	/** A whole summary takes as long as hundreds of reports, and others wait. */
	#mayHaveSummary(monitor: Monitor): boolean {
		const { summariesASecond: perSecond, summaryBurst: burst } = this.#core.limits;
		const { monotonic } = this.#core;
		const bucket = this.#summaries.get(monitor) ?? new TokenBucket({ perSecond, burst, monotonic });
		this.#summaries.set(monitor, bucket);
		return bucket.take();
	}

	#openSummary(): Summary {
		const { sessions, monitors, now, limits } = this.#core;
		this.#summary ??= new Summary({
			devices: sessions.devices,
			textOf: (device) => summaryText(device, this.#attentions),
			now,
			pauseMs: limits.summaryPauseMs,
			onFrame: (frame) => {
				monitors.cork();
				for (const monitor of monitors.list()) if (monitor.summary) monitor.sendSummary(frame);
			},
		});
		return this.#summary;
	}
}
