/** Computer's end of a device's serial port: sends Improv commands and records the responses. */

import {
	command,
	encodeCommand,
	joinFields,
	PacketReader,
	packetType,
	splitFields,
} from "../../device/improv/packets.js";
import type { Board } from "../../hosts/virtual/node/board.js";
import { within } from "./eventually.js";

const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text));

export class ImprovClient {
	/** Messages of the device in order, as `state 2`, `error 3` or `result 4: home, -50, YES`. */
	readonly heard: string[] = [];
	readonly #board: Board;
	#waiters: (() => void)[] = [];

	constructor(board: Board) {
		this.#board = board;
		const reader = new PacketReader((type, data) => {
			this.heard.push(describe(type, data));
			for (const waiter of this.#waiters.splice(0)) waiter();
		});
		board.listen({ onSerialOutput: (bytes) => reader.read(bytes) });
	}

	send(id: number, data: Uint8Array = new Uint8Array()): void {
		this.#board.sendSerial(encodeCommand(packetType.command, id, data));
	}

	join(ssid: string, password: string): void {
		this.send(command.wifiSettings, joinFields([bytesOf(ssid), bytesOf(password)]));
	}

	/** Sends packets in chunks; the last command has no data. */
	give(settings: object): void {
		const json = bytesOf(JSON.stringify(settings));
		for (let at = 0; at < json.length; at += 200) this.send(command.settings, json.subarray(at, at + 200));
		this.send(command.settings);
	}

	/** Resolves when the device has sent this message. */
	hears(text: string): Promise<void> {
		const find = async () => {
			while (!this.heard.includes(text))
				await new Promise<void>((resolve) => {
					this.#waiters.push(resolve);
				});
		};
		return within(find(), () => `"${text}" among ${JSON.stringify(this.heard)}`);
	}
}

function describe(type: number, data: Uint8Array): string {
	if (type === packetType.currentState) return `state ${data.join()}`;
	if (type === packetType.errorState) return `error ${data.join()}`;
	const fields = splitFields(data.subarray(2)).map((field) => Buffer.from(field).toString());
	return `result ${data[0]}: ${fields.join(", ")}`;
}
