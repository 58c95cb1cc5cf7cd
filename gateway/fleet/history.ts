/**
 * History of each device for the last 24 hours, in memory only: 288 steps of 5 minutes, in 2.3 KB outside of
 * V8's heap once a device has been connected for 40 minutes.
 */

import type { StateReport } from "../../device/protocol/messages.js";
import { isRecord, matches } from "../../device/protocol/schema.js";
import type { Past } from "../api/device.js";
import { parseJson } from "../api/json.js";
import { count } from "../api/shapes.js";
import type { Listeners } from "../events.js";
import type { Core } from "../extension.js";
import type { PeerQuery } from "../peers.js";
import type { Device } from "../sessions/device.js";
import { isoTime } from "../sessions/view.js";

const stepSeconds = 300;
const stepMs = stepSeconds * 1000;
const stepCount = 288;
export const historyMs = stepCount * stepMs;

/** Offsets within a step. RSSI is stored without its sign, light in 16ths, free heap in KiB in two bytes. */
const heard = 0;
const weakest = 1;
const strongest = 2;
const lightMin = 3;
const lightMax = 4;
const heap = 5;
const reconnects = 7;
const blank = Uint8Array.of(0, 0, 255, 255, 0, 255, 255, 0);
const largestHeap = 0xfffe;
/** 40 minutes, as V8 keeps typed arrays of up to 64 bytes on its heap. */
const firstStepCount = 8;
/** Number of parts of a step, each a bit of `heard`. */
const partCount = 8;

export class Histories {
	readonly #core: Pick<Core, "sessions" | "peers" | "now" | "monotonic">;
	readonly #histories = new Map<Device, History>();
	readonly #question: PeerQuery;
	readonly #reconnectsQuestion: PeerQuery;

	constructor(core: Pick<Core, "sessions" | "peers" | "now" | "monotonic">) {
		this.#core = core;
		this.#reconnectsQuestion = core.peers.defineQuery("reconnects", () =>
			JSON.stringify(Object.fromEntries(this.#ownReconnects())),
		);
		this.#question = core.peers.defineQuery("history", (deviceId) => {
			const device = core.sessions.devices.get(deviceId);
			return device ? this.#textOf(device) : "";
		});
	}

	readonly listeners: Listeners = {
		uplink: ({ device }, uplink) => {
			if (device && uplink.type === "state_report") this.#add(device, uplink);
		},
		deviceForgotten: (device) => void this.#histories.delete(device),
	};

	/** Returns the history as JSON, without `marks`. */
	async of(device: Device): Promise<string> {
		return (await this.#question.send(device, device.deviceId)) || this.#textOf(device);
	}

	/** Returns Wi-Fi reconnects by device id from all gateways, except devices without any and gateways that do not respond. */
	async reconnects(): Promise<ReadonlyMap<string, number>> {
		const counts = new Map<string, number>();
		for (const text of await this.#reconnectsQuestion.sendToAll("")) {
			const answer = parseJson(text);
			if (!isRecord(answer)) continue;
			for (const [deviceId, value] of Object.entries(answer))
				if (matches(count, value)) counts.set(deviceId, value);
		}
		return counts;
	}

	*#ownReconnects(): Generator<readonly [string, number]> {
		for (const [device, history] of this.#histories) {
			if (device.session.link.isRemote) continue;
			const sum = history.reconnects(this.#core.monotonic());
			if (sum > 0) yield [device.deviceId, sum];
		}
	}

	#add(device: Device, report: StateReport): void {
		const known = this.#histories.get(device);
		const history = known ?? new History();
		if (!known) this.#histories.set(device, history);
		history.add(report, this.#core.monotonic());
	}

	#textOf(device: Device): string {
		const { now, monotonic } = this.#core;
		const { ageMs, ...columns } = (this.#histories.get(device) ?? new History()).read(monotonic());
		return JSON.stringify({ from: isoTime(now() - ageMs), ...columns });
	}
}

export class History {
	/** Ring buffer of steps. It starts small, as many devices may stay only briefly. */
	#bytes = blankSteps(firstStepCount);
	/** Latest step. Older values of the ring are cleared up to it. */
	#latest = Number.NEGATIVE_INFINITY;
	#first = Number.POSITIVE_INFINITY;
	/** Counter of reconnects, and uptime in seconds, in the latest report. */
	#total: number | undefined;
	#uptime = 0;

	/** @param monotonic monotonic clock, in milliseconds since about the gateway's start */
	add({ health, network, peripherals }: StateReport, monotonic: number): void {
		const step = Math.floor(monotonic / stepMs);
		this.#first = Math.min(this.#first, step);
		this.#advance(step);
		const bytes = this.#bytes;
		const from = this.#offsetOf(step);
		const signal = -network.wifi_rssi;
		bytes[from + heard] = byteAt(bytes, from + heard) | (1 << partOf(monotonic));
		bytes[from + weakest] = Math.max(signal, byteAt(bytes, from + weakest));
		bytes[from + strongest] = Math.min(signal, byteAt(bytes, from + strongest));
		const light = peripherals.ambient_light;
		if (light !== undefined) {
			bytes[from + lightMin] = Math.min(light >> 4, byteAt(bytes, from + lightMin));
			bytes[from + lightMax] = Math.max(light >> 4, byteAt(bytes, from + lightMax));
		}
		const free = Math.min(health.free_heap_bytes >>> 10, largestHeap, heapAt(bytes, from));
		bytes[from + heap] = free & 0xff;
		bytes[from + heap + 1] = free >> 8;
		this.#countReconnects(from, health.uptime_seconds, network.reconnects ?? 0);
	}

	/** Returns the reconnects of the 24 hours, at most 255 in each step. @param monotonic as in `add` */
	reconnects(monotonic: number): number {
		this.#advance(Math.floor(monotonic / stepMs));
		let sum = 0;
		for (let at = reconnects; at < this.#bytes.length; at += blank.length) sum += byteAt(this.#bytes, at);
		return sum;
	}

	/** @param total since the device's start; the times of those before the first report are unknown */
	#countReconnects(from: number, uptime: number, total: number): void {
		const before = this.#total ?? total;
		const hasRestarted = uptime < this.#uptime || total < before;
		const added = hasRestarted ? total : total - before;
		this.#bytes[from + reconnects] = Math.min(255, byteAt(this.#bytes, from + reconnects) + added);
		this.#total = total;
		this.#uptime = uptime;
	}

	/**
	 * Returns the columns of `GET /api/devices/{deviceId}/history`.
	 * @param monotonic as in `add`
	 */
	read(monotonic: number): Omit<Past, "from" | "marks"> & { readonly ageMs: number } {
		const latest = Math.floor(monotonic / stepMs);
		this.#advance(latest);
		const bytes = this.#bytes;
		const oldest = Math.max(this.#first, latest - bytes.length / blank.length + 1);
		const steps = Array.from({ length: stepCount }, (_, index) => latest - stepCount + 1 + index);
		const heardIn = (step: number) => (step < oldest ? 0 : byteAt(bytes, this.#offsetOf(step) + heard));
		const column = (read: (from: number) => number) =>
			steps.map((step) => (heardIn(step) ? read(this.#offsetOf(step)) : null));
		const byte = (field: number, factor: number) =>
			column((from) => 0 + factor * byteAt(bytes, from + field));
		const hasLight = column((from) => byteAt(bytes, from + lightMax) - byteAt(bytes, from + lightMin));
		return {
			/** Time from the beginning of the first step to now. */
			ageMs: monotonic - (latest - stepCount + 1) * stepMs,
			stepSeconds,
			rssi: { min: byte(weakest, -1), max: byte(strongest, -1) },
			heap: column((from) => 1024 * heapAt(bytes, from)),
			light: hasLight.some((range) => range !== null && range >= 0)
				? { min: byte(lightMin, 16), max: byte(lightMax, 16) }
				: null,
			presence: steps.map((step) => {
				if (step < 0) return null;
				const parts = heardIn(step);
				// In the current step, the current part counts only after a report.
				const part = partOf(monotonic);
				const passed = step < latest ? partCount : part + ((parts >> part) & 1);
				return passed === 0 ? null : bitsIn(parts) / passed;
			}),
		};
	}

	#grow(): void {
		const small = this.#bytes;
		const from = Math.max(this.#first, this.#latest - firstStepCount + 1);
		const kept = Array.from({ length: this.#latest - from + 1 }, (_, index) => {
			const offset = this.#offsetOf(from + index);
			return small.subarray(offset, offset + blank.length);
		});
		this.#bytes = blankSteps(stepCount);
		for (const [index, step] of kept.entries()) this.#bytes.set(step, this.#offsetOf(from + index));
	}

	#advance(step: number): void {
		if (step - this.#first >= firstStepCount && this.#bytes.length < stepCount * blank.length) this.#grow();
		const next = Math.max(this.#latest + 1, step - this.#bytes.length / blank.length + 1);
		for (let skipped = next; skipped <= step; skipped++) this.#bytes.set(blank, this.#offsetOf(skipped));
		this.#latest = Math.max(this.#latest, step);
	}

	/** @param step may be before the gateway's start */
	#offsetOf(step: number): number {
		const count = this.#bytes.length / blank.length;
		return (((step % count) + count) % count) * blank.length;
	}
}

function blankSteps(count: number): Uint8Array {
	const bytes = new Uint8Array(count * blank.length);
	for (let from = 0; from < bytes.length; from += blank.length) bytes.set(blank, from);
	return bytes;
}

function byteAt(bytes: Uint8Array, offset: number): number {
	return bytes[offset] ?? 0;
}

function heapAt(bytes: Uint8Array, from: number): number {
	return byteAt(bytes, from + heap) | (byteAt(bytes, from + heap + 1) << 8);
}

function partOf(monotonic: number): number {
	return Math.floor(((monotonic / stepMs) % 1) * partCount);
}

function bitsIn(byte: number): number {
	let count = 0;
	for (let rest = byte; rest > 0; rest >>= 1) count += rest & 1;
	return count;
}
