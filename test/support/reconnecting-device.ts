/** A device that connects again and again, and carries out the updates that it is sent, whatever happens to its gateway. */

import { setTimeout } from "node:timers/promises";
import { bearer, deviceToken } from "./gateway-settings.js";
import { type Command, SimulatedDevice, type SimulatedDeviceOptions } from "./simulated-device.js";

export interface ReconnectingDeviceOptions extends SimulatedDeviceOptions {
	/** Between the end of a connection and the next one. */
	readonly reconnectMs: () => number;
	/** How long an update takes, beside the download. */
	readonly updateMs: () => number;
}

const reportMs = 20_000;
/** Without an answer to a ping. */
const silenceMs = 3_000;

export class ReconnectingDevice extends SimulatedDevice {
	version = "1.2.3";
	/** `start_ota` that it got: the version of each. */
	readonly sent: string[] = [];
	isUpdating = false;
	/** On the monotonic clock: when it last connected, was disconnected, or got an update. */
	changedAt = 0;
	/** Called when it gets an update, before anything else, and when it has reported on a new connection. */
	onStep: (step: "offered" | "reported") => void = () => {};
	readonly #options: ReconnectingDeviceOptions;
	#isOn = true;
	#startedAt = performance.now();
	/** Of an update: the next connection is that of the new firmware. */
	#hasRestarted = false;

	get offers(): number {
		return this.sent.length;
	}

	constructor(options: ReconnectingDeviceOptions) {
		super({ ...options, client: { handshakeTimeout: 5_000, ...options.client } });
		this.#options = options;
	}

	async run(): Promise<void> {
		while (this.#isOn) {
			const socket = this.open();
			const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
			socket.on("open", () => {
				this.changedAt = performance.now();
				this.report();
				this.isUpdating &&= !this.#hasRestarted;
				this.#hasRestarted = false;
				this.onStep("reported");
			});
			const reporting = setInterval(() => this.report(), reportMs);
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
			if (this.#isOn) await setTimeout(this.#options.reconnectMs());
		}
	}

	end(): void {
		this.#isOn = false;
		this.close();
	}

	override report(): void {
		const uptime = Math.floor((performance.now() - this.#startedAt) / 1000);
		super.report({ "system.firmware_version": this.version, "health.uptime_seconds": uptime });
	}

	protected override onCommand({ command, url }: Command): void {
		if (command === "start_ota") void this.#update(String(url));
	}

	async #update(url: string): Promise<void> {
		const { updateMs, token = deviceToken, client } = this.#options;
		this.onStep("offered");
		this.changedAt = performance.now();
		const [, version = ""] = /firmware-v(.+)\.bin(?:\?|$)/.exec(url) ?? [];
		this.sent.push(version);
		this.isUpdating = true;
		for (const percent of [0, 20, 40, 60, 80]) {
			this.progress(percent);
			await setTimeout(updateMs() / 5);
		}
		const headers = new Headers({ ...bearer(token), ...client?.headers });
		while (this.#isOn) {
			const answer = await fetch(url, { headers }).catch(() => undefined);
			if (answer?.ok && (await answer.arrayBuffer().catch(() => undefined))) break;
			await setTimeout(200);
		}
		if (!this.#isOn) return;
		this.send({ type: "ota_complete" });
		this.version = version;
		this.#hasRestarted = true;
		this.#startedAt = performance.now();
		this.close();
	}
}
