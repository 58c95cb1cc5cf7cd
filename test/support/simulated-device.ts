/** Device on a real socket with a modifiable report. Subclasses handle commands. */

import { type ClientOptions, WebSocket } from "ws";
import { isRecord, type Model } from "../../device/protocol/schema.js";
import { bearer, deviceToken } from "./gateway-settings.js";
import { type Json, sampleReport, withFields } from "./sample-report.js";

export interface SimulatedDeviceOptions {
	/** URL of the gateway, `http://…`; called before each connection. */
	readonly url: string | (() => string);
	readonly deviceId: string;
	readonly model?: Model;
	readonly chip?: string;
	readonly version?: string;
	readonly token?: string;
	/** Features in a header; default: none. */
	readonly features?: readonly string[];
	/** Default: true; otherwise only its report identifies it. */
	readonly isNamedByHeader?: boolean;
	readonly client?: ClientOptions;
}

export type Command = Readonly<Record<string, unknown>>;

export abstract class SimulatedDevice {
	readonly deviceId: string;
	readonly #options: SimulatedDeviceOptions;
	#report: { [name: string]: Json };
	#socket: WebSocket | undefined;

	constructor(options: SimulatedDeviceOptions) {
		const { deviceId, model = "DEV-1", version = "1.2.3" } = options;
		this.deviceId = deviceId;
		this.#options = options;
		this.#report = { ...sampleReport(model), deviceId };
		this.set({ "system.firmware_version": version });
	}

	protected abstract onCommand(command: Command): void;

	/** Current connection. */
	protected get socket(): WebSocket | undefined {
		return this.#socket;
	}

	get isConnected(): boolean {
		return this.#socket?.readyState === WebSocket.OPEN;
	}

	/** Changes fields of its report, for example `network.wifi_rssi`, without sending it. */
	set(fields: Readonly<Record<string, Json | undefined>>): void {
		this.#report = withFields(this.#report, fields);
	}

	/** Changes its report and sends it, by default with the present time. */
	report(fields: Readonly<Record<string, Json | undefined>> = {}): void {
		this.set({ timestamp: new Date().toISOString(), ...fields });
		this.send(this.#report);
	}

	send(message: object): void {
		this.sendText(JSON.stringify(message));
	}

	/** Sends a text, valid or not; has no effect while disconnected. */
	sendText(text: string | Buffer): void {
		if (this.isConnected) this.#socket?.send(text);
	}

	progress(percent: number, total = 100_000): void {
		const bytes = { bytes_written: (percent * total) / 100, bytes_total: total };
		this.send({ type: "ota_progress", percent, ...bytes });
	}

	/** Opens a connection and ignores further commands on the previous one. */
	protected open(): WebSocket {
		const { url, model = "DEV-1", chip = "esp32s3", token = deviceToken, features, client } = this.#options;
		const gateway = typeof url === "string" ? url : url();
		const socket = new WebSocket(`${gateway.replace("http", "ws")}/device`, {
			...client,
			headers: {
				...bearer(token),
				...(this.#options.isNamedByHeader !== false && { "Device-Id": this.deviceId, "Device-Model": model }),
				"Device-Chip": chip,
				...(features && { "Device-Features": features.join(",") }),
				...client?.headers,
			},
		});
		this.#socket = socket;
		socket.on("error", () => {});
		socket.on("message", (data) => {
			const command: unknown = JSON.parse(data.toString());
			if (this.#socket === socket && isRecord(command)) this.onCommand(command);
		});
		return socket;
	}

	/** Breaks its connection, if any. */
	close(): void {
		this.#socket?.terminate();
	}

	/** Breaks its connection without a close event on its side. */
	protected forget(): void {
		const socket = this.#socket;
		this.#socket = undefined;
		socket?.terminate();
	}
}
