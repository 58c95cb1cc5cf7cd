/**
 * The last 24 hours of each device, in memory alone: 288 steps of 5 minutes in 2 KB outside of V8's heap, allocated once, at
 * the device's first report.
 */

import type { StateReport } from "../../device/protocol/messages.js";
import { subjectOf } from "../bus.js";
import type { Core } from "../extension.js";
import type { Device } from "../sessions/device.js";
import type { SessionListener } from "../sessions/sessions.js";
import { isoTime } from "../sessions/view.js";

const stepSeconds = 300;
const stepMs = stepSeconds * 1000;
const stepCount = 288;
export const historyMs = stepCount * stepMs;

/** Offsets in a step's bytes. RSSI is stored without its sign, light in 16ths, heap in KiB in two bytes. */
const heard = 0;
const weakest = 1;
const strongest = 2;
const lightMin = 3;
const lightMax = 4;
const heap = 5;
const blank = Uint8Array.of(0, 0, 255, 255, 0, 255, 255);
const largestHeap = 0xfffe;
/** Of a step; each is a bit of `heard`. */
const partCount = 8;

/** For the gateway to which a device is connected to answer. */
const answerMs = 2_000;

export class Histories {
	readonly #core: Pick<Core, "sessions" | "peers" | "now" | "monotonic">;
	readonly #histories = new Map<Device, History>();
	#stopServing = () => {};

	constructor(core: Pick<Core, "sessions" | "peers" | "now" | "monotonic">) {
		this.#core = core;
	}

	readonly sessions: SessionListener = {
		onUplink: ({ device }, uplink) => {
			if (device && uplink.type === "state_report") this.#add(device, uplink);
		},
		onForgotten: (device) => void this.#histories.delete(device),
	};

	/** Begins to answer other gateways. */
	open(): void {
		const { peers, sessions } = this.#core;
		if (!peers) return;
		this.#stopServing = peers.bus.serve(subjectOf("gw", "history", peers.id), async (deviceId) => {
			const device = sessions.devices.get(deviceId);
			return device ? this.#textOf(device) : "";
		});
	}

	close(): void {
		this.#stopServing();
	}

	/** @returns as JSON, without the marks */
	async of(device: Device): Promise<string> {
		const { peers } = this.#core;
		const owner = peers?.ownerOf(device);
		if (!peers || owner === undefined) return this.#textOf(device);
		const asked = peers.bus.request(subjectOf("gw", "history", owner), device.deviceId, answerMs);
		return (await asked.catch(() => "")) || this.#textOf(device);
	}

	#add(device: Device, report: StateReport): void {
		const history = this.#histories.get(device) ?? new History();
		this.#histories.set(device, history);
		history.add(report, this.#core.monotonic());
	}

	#textOf(device: Device): string {
		const { now, monotonic } = this.#core;
		const { ageMs, ...columns } = (this.#histories.get(device) ?? new History()).read(monotonic());
		return JSON.stringify({ from: isoTime(now() - ageMs), ...columns });
	}
}

export class History {
	#bytes: Buffer | undefined;
	/** The latest step. Values of the previous day are removed up to it. */
	#latest = 0;

	/** @param monotonic monotonic clock, in milliseconds since about the gateway's start */
	add({ health, network, peripherals }: StateReport, monotonic: number): void {
		const step = Math.floor(monotonic / stepMs);
		this.#bytes ??= Buffer.alloc(stepCount * blank.length, blank);
		this.#advance(step);
		const bytes = this.#bytes;
		const from = offsetOf(step);
		const least = (field: number, value: number) => {
			if (value < bytes.readUInt8(from + field)) bytes.writeUInt8(value, from + field);
		};
		const most = (field: number, value: number) => {
			if (value > bytes.readUInt8(from + field)) bytes.writeUInt8(value, from + field);
		};
		bytes.writeUInt8(bytes.readUInt8(from + heard) | (1 << partOf(monotonic)), from + heard);
		most(weakest, -network.wifi_rssi);
		least(strongest, -network.wifi_rssi);
		const light = peripherals.ambient_light;
		if (light !== undefined) {
			least(lightMin, light >> 4);
			most(lightMax, light >> 4);
		}
		const free = Math.min(health.free_heap_bytes >>> 10, largestHeap);
		bytes.writeUInt16LE(Math.min(free, bytes.readUInt16LE(from + heap)), from + heap);
	}

	/** The columns of `GET /api/devices/{deviceId}/history`. @param monotonic as in `add` */
	read(monotonic: number) {
		const latest = Math.floor(monotonic / stepMs);
		this.#advance(latest);
		const bytes = this.#bytes;
		const steps = Array.from({ length: stepCount }, (_, index) => latest - stepCount + 1 + index);
		const column = (read: (bytes: Buffer, from: number) => number) =>
			steps.map((step) => {
				const from = offsetOf(step);
				return bytes?.readUInt8(from + heard) ? read(bytes, from) : null;
			});
		const byte = (field: number, factor: number) =>
			column((bytes, from) => 0 + factor * bytes.readUInt8(from + field));
		const hasLight = column(
			(bytes, from) => bytes.readUInt8(from + lightMax) - bytes.readUInt8(from + lightMin),
		);
		return {
			/** From the first step's begin to now. */
			ageMs: monotonic - (latest - stepCount + 1) * stepMs,
			stepSeconds,
			rssi: { min: byte(weakest, -1), max: byte(strongest, -1) },
			heap: column((bytes, from) => 1024 * bytes.readUInt16LE(from + heap)),
			light: hasLight.some((range) => range !== null && range >= 0)
				? { min: byte(lightMin, 16), max: byte(lightMax, 16) }
				: null,
			presence: steps.map((step) => {
				if (step < 0) return null;
				const parts = bytes?.readUInt8(offsetOf(step) + heard) ?? 0;
				// Of the step that is not over, the present part counts once it was heard in.
				const part = partOf(monotonic);
				const passed = step < latest ? partCount : part + ((parts >> part) & 1);
				return passed === 0 ? null : bitsIn(parts) / passed;
			}),
		};
	}

	#advance(step: number): void {
		const next = Math.max(this.#latest, step - stepCount) + 1;
		for (let each = next; each <= step; each++) this.#bytes?.set(blank, offsetOf(each));
		this.#latest = Math.max(this.#latest, step);
	}
}

/** @param step may be before the gateway's start */
function offsetOf(step: number): number {
	return (((step % stepCount) + stepCount) % stepCount) * blank.length;
}

function partOf(monotonic: number): number {
	return Math.floor(((monotonic / stepMs) % 1) * partCount);
}

function bitsIn(byte: number): number {
	let count = 0;
	for (let rest = byte; rest > 0; rest >>= 1) count += rest & 1;
	return count;
}
