/**
 * A device that does what a test says, right or wrong: it reports, obeys, refuses or keeps silent, and plays through an
 * update in any way that one can go. A thousand of them cost next to nothing.
 */

import { once } from "node:events";
import { WebSocket } from "ws";
import { isRecord, type Model } from "../../device/protocol/schema.js";
import { sampleReport } from "../../scripts/sample-report.js";
import { altered, type Json } from "../device/protocol/samples.js";
import { bearer, deviceToken } from "../gateway/running.js";

/** How an update goes. "waits": it goes as far as `finish` is called. */
export type Ending = "updates" | "rolls back" | "fails" | "waits";

export interface ScriptedDeviceOptions {
	/** Of the gateway. */
	readonly url: string;
	readonly deviceId: string;
	readonly model?: Model;
	readonly version?: string;
	/** Fields of its report by their paths, such as `network.wifi_rssi`. */
	readonly report?: Readonly<Record<string, Json>>;
	readonly ending?: Ending;
	/** Whether it obeys commands; one that does not keeps silent. Default: it does. */
	readonly isObedient?: boolean;
	readonly token?: string;
}

export class ScriptedDevice {
	readonly deviceId: string;
	/** Commands that came, in their order. */
	readonly commands: Readonly<Record<string, unknown>>[] = [];
	readonly #options: ScriptedDeviceOptions;
	#report: { [name: string]: Json };
	#socket: WebSocket | undefined;
	/** The version that an update brings. */
	#offered = "";

	constructor(options: ScriptedDeviceOptions) {
		const { deviceId, model = "DEV-1", version = "1.2.3" } = options;
		this.deviceId = deviceId;
		this.#options = options;
		this.#report = { ...sampleReport(model), deviceId };
		this.set({ "system.firmware_version": version, ...options.report });
	}

	/** Connects and reports. */
	async connect(): Promise<this> {
		const { url, model = "DEV-1", token = deviceToken } = this.#options;
		const headers = {
			...bearer(token),
			"Device-Id": this.deviceId,
			"Device-Model": model,
			"Device-Chip": "esp32s3",
		};
		const socket = new WebSocket(`${url.replace("http", "ws")}/device`, { headers });
		this.#socket = socket;
		socket.on("error", () => {});
		socket.on("message", (data) => this.#receive(JSON.parse(data.toString())));
		await once(socket, "open");
		this.send(this.#report);
		return this;
	}

	/** How its updates go, where that was said. */
	get ending(): Ending | undefined {
		return this.#options.ending;
	}

	/** Changes its report, without sending it. */
	set(fields: Readonly<Record<string, Json>>): void {
		for (const [path, value] of Object.entries(fields)) this.#report = altered(this.#report, path, value);
	}

	/** Changes its report and sends it. */
	report(fields: Readonly<Record<string, Json>> = {}): void {
		this.set(fields);
		this.send(this.#report);
	}

	send(message: object): void {
		this.#socket?.send(JSON.stringify(message));
	}

	close(): void {
		this.#socket?.terminate();
	}

	/** Refuses a command, as the firmware would. */
	refuse(command: string, message: string): void {
		this.send({ type: "command_error", deviceId: this.deviceId, command, code: "busy", message });
	}

	progress(percent: number): void {
		this.send({ type: "ota_progress", percent, bytes_written: percent * 1000, bytes_total: 100_000 });
	}

	/** Ends an update that is under way: restarts, and comes back with what `ending` says. */
	async finish(ending: Ending): Promise<void> {
		if (ending === "fails") return this.send({ type: "ota_error", reason: "HTTP connection failed (-1)" });
		this.progress(100);
		this.send({ type: "ota_complete" });
		this.#socket?.close();
		if (this.#socket) await once(this.#socket, "close");
		const isBack = ending === "rolls back";
		this.set({
			...(!isBack && { "system.firmware_version": this.#offered }),
			"health.reset_reason": isBack ? "PANIC_RESET" : "SW_RESET",
			"health.uptime_seconds": 0,
		});
		await this.connect();
	}

	#receive(command: unknown): void {
		if (!isRecord(command)) return;
		this.commands.push(command);
		const { isObedient = true, ending = "updates" } = this.#options;
		if (command.command === "start_ota") {
			this.#offered = /firmware-v(.+)\.bin$/.exec(String(command.url))?.[1] ?? "9.9.9";
			this.progress(0);
			if (ending === "waits") return;
			this.progress(50);
			void this.finish(ending);
		} else if (isObedient) this.#obey(command);
	}

	#obey({ command, value }: Readonly<Record<string, unknown>>): void {
		const field = {
			set_volume: "peripherals.audio.volume",
			set_brightness: "peripherals.led_ring.brightness_coef",
			set_haptics: "peripherals.haptic_intensity",
		}[String(command)];
		this.report(field ? { [field]: Number(value) } : {});
	}
}
