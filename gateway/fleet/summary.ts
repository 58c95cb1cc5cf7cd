/**
 * Summary of all devices for subscribed monitors: a full snapshot, then changes at most four times a second,
 * in a frame serialized once for all. Otherwise a page with 5,000 devices would receive 1,000 reports a
 * second.
 */

import type { FrameOf } from "../api/frames.js";
import { noUpdate } from "../api/update.js";
import type { Device } from "../sessions/device.js";
import { deviceHead, frameCharacters, isoTime, textWith } from "../sessions/view.js";
import type { Issues } from "./issues.js";

/** Size of a snapshot's first frame: one page of rows. The later ones each are a step of the progress. */
const firstFrameCharacters = 16 * 1024;
const laterFrameCharacters = 64 * 1024;

type Head = Omit<FrameOf<"summary">, "devices">;

/** Formats a device like `GET /api/devices`, without ids and times, which lists do not show and which compress badly. */
export function summaryText(device: Device, issues: Pick<Issues, "of">): string {
	const { connected, lastSeenAt, handshake } = device.session;
	const { sessionId, connectedAt: _, firstSeenAt: __, metadata, ...head } = deviceHead(device);
	return JSON.stringify({
		...head,
		// A session without a device id is known to monitors by its own id.
		sessionId: handshake.deviceId === undefined ? sessionId : undefined,
		metadata: metadata === noUpdate ? undefined : metadata,
		lastSeenAt: connected ? undefined : isoTime(lastSeenAt),
		...issues.of(device),
	});
}

export interface SummaryOptions {
	/** Devices by id. */
	readonly devices: ReadonlyMap<string, Device>;
	/** Formats a device as JSON. */
	readonly textOf: (device: Device) => string;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Minimum interval between frames of changes. */
	readonly pauseMs: number;
	/** Whether any monitor still subscribes. */
	readonly isNeeded: () => boolean;
	/** Called with each frame of changes. */
	readonly onFrame: (frame: Buffer) => void;
}

export class Summary {
	readonly #options: SummaryOptions;
	/** Texts sent to subscribers, by device id. Snapshots use them too, as they could miss a change otherwise. */
	readonly #texts = new Map<string, string>();
	/** Ids of devices that may differ from `#texts`. */
	readonly #touched = new Set<string>();
	/** Ids of devices that differ from the frames sent. */
	readonly #unsent = new Set<string>();
	#timer: NodeJS.Timeout | undefined;

	constructor(options: SummaryOptions) {
		this.#options = options;
	}

	/** Must be called after a device changed, reported or was removed. */
	touch(deviceId: string): void {
		this.#touched.add(deviceId);
		this.#timer ??= this.#plan();
	}

	/**
	 * Yields frames with all devices sorted by name; `remaining` counts those to come. The first frame is
	 * small, so that a page on a slow connection shows devices early.
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

	/** Formats a device on first use: formatting all at once would delay reports. */
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
