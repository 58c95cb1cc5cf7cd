/** Improv client for a board on a USB port (device/improv/packets.ts). */

import {
	command,
	encodeCommand,
	improvError,
	joinFields,
	PacketReader,
	packetType,
	splitFields,
} from "../../../../device/improv/packets.js";
import { InstallError } from "./errors.js";

/** Baud rate of the log, for boards with a USB-to-UART bridge. */
const bitsPerSecond = 115_200;
const firmwareName = "device-gateway";
/** Opening the port may reset the board. */
const startMs = 10_000;
const repeatMs = 1_000;
/** Longer than the 25 s for which the device tries a network. */
const responseTimeoutMs = 30_000;
const pieceBytes = 200;
const closeMs = 2_000;

export class FirmwarePort {
	readonly #port: SerialPort;
	readonly #source: ReadableStreamDefaultReader<Uint8Array>;
	readonly #sink: WritableStreamDefaultWriter<Uint8Array>;
	readonly #listening: Promise<void>;
	/** Command that waits for its result. */
	#pending:
		| { id: number; onResult(fields: readonly string[]): void; onFailed(error: InstallError): void }
		| undefined;

	/** Opens the port while `use` runs with the device id. @throws InstallError */
	static async use<T>(
		port: SerialPort,
		use: (firmware: FirmwarePort, deviceId: string) => Promise<T>,
	): Promise<T> {
		await port.open({ baudRate: bitsPerSecond }).catch((cause: unknown) => {
			throw new InstallError("port_busy", undefined, { cause });
		});
		const firmware = new FirmwarePort(port);
		try {
			return await use(firmware, await firmware.#identify());
		} finally {
			await firmware.#close();
		}
	}

	private constructor(port: SerialPort) {
		if (!port.readable || !port.writable) throw new InstallError("lost");
		this.#port = port;
		this.#source = port.readable.getReader();
		this.#sink = port.writable.getWriter();
		this.#listening = this.#listen();
	}

	/** Scans for networks. @returns their names, the strongest first @throws InstallError */
	async networks(): Promise<readonly string[]> {
		const results = await this.#request(command.networks, new Uint8Array(), (fields) => fields.length === 0);
		return results.flatMap(([name = ""]) => (name === "" ? [] : [name]));
	}

	/** @param settings payload of set_settings @throws InstallError */
	async sendSettings(settings: object): Promise<void> {
		const inAscii = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
		const json = new TextEncoder().encode(JSON.stringify(settings).replace(/[^ -~]/g, inAscii));
		for (let at = 0; at < json.length; at += pieceBytes)
			await this.#request(command.settings, json.subarray(at, at + pieceBytes));
		const [[problem] = []] = await this.#request(command.settings);
		if (problem !== undefined) throw new InstallError("rejected", `${problem}.`);
	}

	/** @throws InstallError */
	async join(ssid: string, password: string): Promise<void> {
		const fields = [ssid, password].map((text) => new TextEncoder().encode(text));
		await this.#request(command.wifiSettings, joinFields(fields));
	}

	async #identify(): Promise<string> {
		const id = command.deviceInformation;
		const again = setInterval(() => this.#writeCommand(id).catch(() => {}), repeatMs);
		try {
			const [[firmware, , , deviceId = ""] = []] = await this.#request(id, undefined, undefined, startMs);
			if (firmware === firmwareName) return deviceId;
			throw new InstallError("not_set_up", `The board runs different firmware: ${firmware}.`);
		} finally {
			clearInterval(again);
		}
	}

	/** Sends a command. @param isLast whether a result is the last one @returns the fields of each result */
	async #request(
		id: number,
		data: Uint8Array = new Uint8Array(),
		isLast: (fields: readonly string[]) => boolean = () => true,
		limitMs: number = responseTimeoutMs,
	): Promise<readonly (readonly string[])[]> {
		const results: (readonly string[])[] = [];
		let timer: ReturnType<typeof setTimeout> | undefined;
		const completed = new Promise<void>((resolve, onFailed) => {
			timer = setTimeout(() => onFailed(new InstallError("not_set_up")), limitMs);
			const onResult = (fields: readonly string[]) => {
				results.push(fields);
				if (isLast(fields)) resolve();
			};
			this.#pending = { id, onResult, onFailed };
		});
		try {
			await Promise.all([completed, this.#writeCommand(id, data)]);
		} finally {
			clearTimeout(timer);
			this.#pending = undefined;
		}
		return results;
	}

	async #writeCommand(id: number, data: Uint8Array = new Uint8Array()): Promise<void> {
		try {
			await this.#sink.write(encodeCommand(packetType.command, id, data));
		} catch (cause) {
			throw new InstallError("lost", undefined, { cause });
		}
	}

	async #listen(): Promise<void> {
		const packets = new PacketReader((type, data) => this.#onPacket(type, data));
		try {
			for (;;) {
				const { value, done } = await this.#source.read();
				if (done) return;
				packets.read(value);
			}
		} catch (cause) {
			this.#pending?.onFailed(new InstallError("lost", undefined, { cause }));
		} finally {
			this.#source.releaseLock();
		}
	}

	#onPacket(type: number, data: Uint8Array): void {
		const [first = 0] = data;
		if (type === packetType.result && first === this.#pending?.id) {
			const fields = splitFields(data.subarray(2));
			this.#pending.onResult(fields.map((field) => new TextDecoder().decode(field)));
		}
		if (type !== packetType.errorState || first === improvError.none) return;
		const isNetwork = first === improvError.unableToConnect;
		this.#pending?.onFailed(new InstallError(isNetwork ? "no_network" : "rejected"));
	}

	/** Closes the port with a timeout, since writes block forever if the firmware does not read. */
	async #close(): Promise<void> {
		const timeout = new Promise<void>((resolve) => setTimeout(resolve, closeMs));
		const close = async () => {
			await Promise.all([this.#sink.abort(), this.#source.cancel(), this.#listening]);
			this.#sink.releaseLock();
			await this.#port.close();
		};
		await Promise.race([close().catch(() => {}), timeout]);
	}
}
