/** Device that keeps reconnecting and installs the updates it receives, whatever happens to its gateway. */

import { setTimeout } from "node:timers/promises";
import { bearer, deviceToken } from "./gateway-settings.js";
import { type Command, SimulatedDevice, type SimulatedDeviceOptions } from "./simulated-device.js";

export interface ReconnectingDeviceOptions extends SimulatedDeviceOptions {
	/** Delay between the end of a connection and the next one. */
	readonly reconnectMs: () => number;
	/** Duration of an update without the download. */
	readonly updateMs: () => number;
}

const reportMs = 20_000;
/** Timeout for the response to a ping. */
const silenceMs = 3_000;

export class ReconnectingDevice extends SimulatedDevice {
	version = "1.2.3";
	/** Versions of the received `start_ota` commands. */
	readonly sent: string[] = [];
	isUpdating = false;
	/** Monotonic time of the last connect, disconnect or update. */
	changedAt = 0;
	/** Called first when it receives an update, and after its report on a new connection. */
	onStep: (step: "offered" | "reported") => void = () => {};
	readonly #options: ReconnectingDeviceOptions;
	#isOn = true;
	#startedAt = performance.now();
	/** Whether the next connection is that of updated firmware. */
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
