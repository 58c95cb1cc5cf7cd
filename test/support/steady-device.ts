/** A device that connects again and again, and carries out the updates that it is sent, whatever happens to its gateway. */

import { setTimeout } from "node:timers/promises";
import { WebSocket } from "ws";
import { altered, sampleReport } from "../../scripts/api/sample-report.js";
import { bearer, deviceToken } from "./gateway-settings.js";
import type { Random } from "./random.js";

export interface SteadyDeviceOptions {
	/** Of the gateway, `http://…`. */
	readonly url: string;
	readonly id: string;
	/** Its own: gateways limit clients by address. */
	readonly address: string;
	readonly random: Random;
	/** How long an update takes, beside the download. */
	readonly updateMs: readonly [least: number, most: number];
	/** Called when it gets an update, before anything else. */
	readonly onOffer: (device: SteadyDevice) => void;
}

const reportMs = 20_000;
/** Without an answer to a ping. */
const silenceMs = 3_000;

export class SteadyDevice {
	readonly id: string;
	version = "1.2.3";
	/** `start_ota` that it got. */
	offers = 0;
	isUpdating = false;
	/** On the monotonic clock: when it last connected, was disconnected, or got an update. */
	changedAt = 0;
	readonly #options: SteadyDeviceOptions;
	#isOn = true;
	#socket: WebSocket | undefined;
	#startedAt = performance.now();

	constructor(options: SteadyDeviceOptions) {
		this.id = options.id;
		this.#options = options;
	}

	get isConnected(): boolean {
		return this.#socket?.readyState === WebSocket.OPEN;
	}

	async run(): Promise<void> {
		const { random, url, address } = this.#options;
		while (this.#isOn) {
			const socket = new WebSocket(`${url.replace("http", "ws")}/device`, {
				headers: {
					...bearer(deviceToken),
					"Device-Id": this.id,
					"Device-Model": "DEV-1",
					"Device-Chip": "esp32s3",
					"X-Forwarded-For": address,
				},
				handshakeTimeout: 5_000,
			});
			this.#socket = socket;
			const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
			socket.on("error", () => {});
			socket.on("open", () => {
				this.changedAt = performance.now();
				this.#report();
				this.isUpdating &&= !this.#hasRestarted;
				this.#hasRestarted = false;
			});
			socket.on("message", (data) => void this.#obey(JSON.parse(data.toString())));
			const reporting = setInterval(() => this.#report(), reportMs);
			// haproxy 2.6 may keep the connection although its gateway was killed.
			let isAlive = true;
			socket.on("pong", () => {
				isAlive = true;
			});
			const watching = setInterval(() => {
				if (!isAlive) socket.terminate();
				isAlive = false;
				if (this.isConnected) socket.ping();
			}, silenceMs);
			await closed;
			this.changedAt = performance.now();
			clearInterval(reporting);
			clearInterval(watching);
			if (this.#isOn) await setTimeout(random.between(200, 800));
		}
	}

	/** Of the update: the next connection is that of the new firmware. */
	#hasRestarted = false;

	end(): void {
		this.#isOn = false;
		this.#socket?.terminate();
	}

	#report(): void {
		const named = altered(sampleReport("DEV-1"), "deviceId", this.id);
		const report = altered(named, "system.firmware_version", this.version);
		const uptime = Math.floor((performance.now() - this.#startedAt) / 1000);
		this.#send(altered(report, "health.uptime_seconds", uptime));
	}

	#send(message: object): void {
		if (this.isConnected) this.#socket?.send(JSON.stringify(message));
	}

	async #obey({ command, url }: { readonly command: string; readonly url: string }): Promise<void> {
		const { random, updateMs, address, onOffer } = this.#options;
		if (command !== "start_ota") return;
		onOffer(this);
		this.changedAt = performance.now();
		this.offers += 1;
		this.isUpdating = true;
		const [, version = ""] = /firmware-v(.+)\.bin(?:\?|$)/.exec(url) ?? [];
		const headers = { ...bearer(deviceToken), "X-Forwarded-For": address };
		for (const percent of [0, 50]) {
			this.#send({ type: "ota_progress", percent, bytes_written: percent, bytes_total: 100 });
			await setTimeout(random.between(...updateMs) / 2);
		}
		while (this.#isOn) {
			const answer = await fetch(url, { headers }).catch(() => undefined);
			if (answer?.ok && (await answer.arrayBuffer().catch(() => undefined))) break;
			await setTimeout(200);
		}
		if (!this.#isOn) return;
		this.#send({ type: "ota_complete" });
		this.version = version;
		this.#hasRestarted = true;
		this.#startedAt = performance.now();
		this.#socket?.terminate();
	}
}
