/**
 * Fleet in one process that loses its gateway and reconnects with the firmware's code for close reasons and delays.
 * Each device has its own address.
 */

import { setTimeout } from "node:timers/promises";
import { WebSocket } from "ws";
import { Backoff } from "../../../device/network/backoff.js";
import {
	type ConnectionEnd,
	endOfClose,
	endOfRejection,
	failed,
} from "../../../device/network/connection-end.js";
import { clock } from "../../device/update/timer.js";
import { serve } from "../child.js";
import type { Target } from "./connect.js";
import { now, reportHead, stamped } from "./reports.js";

/** Timeouts of device/network/gateway-socket.ts and link.ts. */
const connectTimeoutMs = 20_000;
const provenAfterMs = 30_000;
/** Time after which the SDK's client reports a close frame. */
const closedAfterMs = 1000;
const tickMs = 4;
/** Reports that this process delays by more are not sent, because a real fleet would not send them all at once. */
const latestMs = 16;
const lostCode = 1006;

class Device {
	readonly #index: number;
	readonly #target: Target;
	readonly #head: string;
	readonly #backoff: Backoff;
	#socket: WebSocket | undefined;
	/** Time of its connection in microseconds. */
	openedAt: number | undefined;
	/** Since the last mark. */
	hasShownFailed = false;

	constructor(index: number, target: Target) {
		this.#index = index;
		this.#target = target;
		this.#head = reportHead(index);
		this.#backoff = new Backoff({
			onRetry: () => this.connect(),
			onExhausted: () => {
				this.hasShownFailed = true;
			},
		});
	}

	connect(): void {
		const { url, token } = this.#target;
		const index = this.#index;
		const { deviceId } = JSON.parse(`${this.#head}"}`);
		const socket = new WebSocket(url, {
			perMessageDeflate: false,
			skipUTF8Validation: true,
			handshakeTimeout: connectTimeoutMs,
			localAddress: `127.${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`,
			headers: { Authorization: `Bearer ${token}`, "Device-Id": deviceId, "Device-Model": "DEV-1" },
		});
		this.#socket = socket;
		let rejection: ConnectionEnd | undefined;
		socket.on("open", () => {
			this.openedAt = now();
			globalThis.setTimeout(() => {
				if (this.#socket === socket && socket.readyState === WebSocket.OPEN) this.#backoff.reset();
			}, provenAfterMs);
			// No timestamp: the latency is not measured.
			socket.send(`${this.#head}"}`);
		});
		socket.on("unexpected-response", (_request, { statusCode = 0, headers }) => {
			const seconds = headers["retry-after"];
			rejection = endOfRejection(statusCode, seconds === undefined ? undefined : Number(seconds));
			socket.terminate();
		});
		socket.on("error", () => {});
		socket.on("close", (code, reason) => {
			this.openedAt = undefined;
			if (code === lostCode) return this.#plan(rejection ?? failed("lost"));
			globalThis.setTimeout(() => this.#plan(endOfClose(code, reason.toString())), closedAfterMs);
		});
	}

	report(): void {
		if (this.#socket?.readyState !== WebSocket.OPEN) return;
		this.#socket.send(isMeasured ? stamped(this.#head) : `${this.#head}"}`);
	}

	#plan(end: ConnectionEnd): void {
		if (end.kind === "failed") this.#backoff.failed();
		else if (end.kind === "busy") this.#backoff.pause(end.waitMs, end.spreadMs);
		else throw new Error(end.reason);
	}
}

let devices: Device[] = [];
let markedAt = 0;
let perSecond = 0;
/** Whether reports contain their time, so that their latency can be measured. */
let isMeasured = false;
let turn = 0;

/** Firmware's timers in real time, and reports at an even pace, one device after another. */
async function run(): Promise<void> {
	const began = performance.now();
	let [passedMs, due] = [0, 0];
	for (;;) {
		await setTimeout(tickMs);
		const ms = Math.floor(performance.now() - began) - passedMs;
		passedMs += ms;
		clock.pass(ms);
		due += (perSecond * Math.min(ms, latestMs)) / 1000;
		for (; due >= 1 && devices.length > 0; due -= 1) devices[turn++ % devices.length]?.report();
	}
}

const handlers = {
	/** Starts connecting at an even pace. */
	connect: async ({ target, count, first }: { target: Target; count: number; first: number }) => {
		devices = Array.from({ length: count }, (_, index) => new Device(first + index, target));
		void run();
		for (const [index, device] of devices.entries()) {
			device.connect();
			if (index % 4 === 3) await setTimeout(10);
		}
	},

	/** Sets the rate of reports of all devices together. */
	report: (options: { perSecond: number; isMeasured: boolean }) => {
		({ perSecond, isMeasured } = options);
	},

	/** Starts counting. */
	mark: () => {
		markedAt = now();
		for (const device of devices) device.hasShownFailed = false;
	},

	/** @returns devices connected since the mark, the time of the last one, and how many showed "failed" */
	standing: () => {
		const back = devices.flatMap(({ openedAt = 0 }) => (openedAt > markedAt ? [openedAt] : []));
		return {
			back: back.length,
			lastBackMs: (back.reduce((last, at) => Math.max(last, at), markedAt) - markedAt) / 1000,
			shownFailed: devices.filter((device) => device.hasShownFailed).length,
		};
	},
};
export type FirmwareFleet = typeof handlers;
serve(handlers);
