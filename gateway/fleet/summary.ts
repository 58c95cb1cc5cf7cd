/**
 * The summary of all devices, for monitors that subscribed to it: all once, then what has changed, at most four times a
 * second in a frame that is made once for all. A page of 5,000 devices would otherwise get 1,000 reports a second.
 */

import type { FrameOf } from "../api/frames.js";
import { noUpdate } from "../api/update.js";
import type { Device } from "../sessions/device.js";
import { deviceHead, frameCharacters, isoTime, textWith } from "../sessions/view.js";
import type { Attentions } from "./attention.js";

/** Of a snapshot: one page of rows, then a step of its progress. */
const firstFrameCharacters = 16 * 1024;
const laterFrameCharacters = 64 * 1024;

type Head = Omit<FrameOf<"summary">, "devices">;

/** As in `GET /api/devices`, without what changes with each report. */
export function summaryText(device: Device, attentions: Pick<Attentions, "of">): string {
	const lastSeenAt = device.session.connected ? undefined : isoTime(device.session.lastSeenAt);
	return JSON.stringify({ ...deviceHead(device), lastSeenAt, ...attentions.of(device) });
}

/** As `summaryText`, without what lists do not show, and a compressed text has to repeat: ids and times. */
export function shortText(device: Device, attentions: Pick<Attentions, "of">): string {
	const { connected, lastSeenAt, handshake } = device.session;
	const { sessionId, connectedAt: _, firstSeenAt: __, metadata, ...head } = deviceHead(device);
	return JSON.stringify({
		...head,
		// Monitors know a session by its id until it has a name.
		sessionId: handshake.deviceId === undefined ? sessionId : undefined,
		metadata: metadata === noUpdate ? undefined : metadata,
		lastSeenAt: connected ? undefined : isoTime(lastSeenAt),
		...attentions.of(device),
	});
}

export interface SummaryOptions {
	/** By device id. */
	readonly devices: ReadonlyMap<string, Device>;
	/** As JSON. */
	readonly textOf: (device: Device) => string;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Between two frames of changes. */
	readonly pauseMs: number;
	/** Whether a monitor still has it. */
	readonly isNeeded: () => boolean;
	/** Called with each frame of changes. */
	readonly onFrame: (frame: Buffer) => void;
}

export class Summary {
	readonly #options: SummaryOptions;
	/** What subscribers get, by device id. A snapshot is made of these too, or it could miss a change. */
	readonly #texts = new Map<string, string>();
	/** Ids of devices that may differ from `#texts`. */
	readonly #touched = new Set<string>();
	/** Ids of devices that differ from the frames sent. */
	readonly #unsent = new Set<string>();
	#timer: NodeJS.Timeout | undefined;

	constructor(options: SummaryOptions) {
		this.#options = options;
	}

	/** To be called when a device has changed, reported or was forgotten. */
	touch(deviceId: string): void {
		this.#touched.add(deviceId);
		this.#timer ??= this.#plan();
	}

	/**
	 * All devices by name, in frames; `remaining` counts those to come. The first frame is small: on a slow connection a person sees
	 * something of it at once.
	 */
	*snapshot(): Generator<string> {
		const ids = this.#idsByName();
		let characters = firstFrameCharacters;
		let reason: Head["reason"] = "snapshot";
		let next = 0;
		do {
			this.#refresh();
			const texts: string[] = [];
			for (let size = 0; size < characters && next < ids.length; next++) {
				const text = this.#textOf(ids[next] ?? "");
				if (text === undefined) continue;
				texts.push(text);
				size += text.length;
			}
			yield this.#frame({ reason, remaining: ids.length - next }, texts);
			reason = "changed";
			characters = laterFrameCharacters;
		} while (next < ids.length);
	}

	close(): void {
		clearTimeout(this.#timer);
	}

	#idsByName(): readonly string[] {
		const named = Array.from(this.#options.devices.values(), ({ deviceId, label }) => {
			return { deviceId, name: label.name ?? deviceId };
		});
		return named.sort((a, b) => (a.name < b.name ? -1 : 1)).map(({ deviceId }) => deviceId);
	}

	#plan(): NodeJS.Timeout {
		return setTimeout(() => {
			this.#timer = undefined;
			if (!this.#options.isNeeded()) return;
			this.#refresh();
			if (this.#unsent.size > 0) this.#options.onFrame(Buffer.from(this.#nextFrame()));
			if (this.#unsent.size > 0) this.#timer = this.#plan();
		}, this.#options.pauseMs).unref();
	}

	#nextFrame(): string {
		const texts: string[] = [];
		const removed: string[] = [];
		let size = 0;
		for (const id of this.#unsent) {
			if (size >= frameCharacters) break;
			this.#unsent.delete(id);
			const text = this.#texts.get(id);
			if (text === undefined) removed.push(id);
			else texts.push(text);
			size += (text ?? id).length;
		}
		return this.#frame({ reason: "changed", ...(removed.length > 0 && { removed }) }, texts);
	}

	#refresh(): void {
		for (const id of this.#touched) {
			const device = this.#options.devices.get(id);
			const text = device && this.#options.textOf(device);
			if (text === this.#texts.get(id)) continue;
			if (text === undefined) this.#texts.delete(id);
			else this.#texts.set(id, text);
			this.#unsent.add(id);
		}
		this.#touched.clear();
	}

	/** Made when it is first asked for: all at once would keep reports waiting. */
	#textOf(id: string): string | undefined {
		const device = this.#options.devices.get(id);
		const text = this.#texts.get(id) ?? (device && this.#options.textOf(device));
		if (text !== undefined) this.#texts.set(id, text);
		return text;
	}

	#frame(fields: Omit<Head, "type" | "timestamp">, texts: readonly string[]): string {
		const head: Head = { type: "summary", timestamp: isoTime(this.#options.now()), ...fields };
		return textWith(head, "devices", `[${texts.join(",")}]`);
	}
}
