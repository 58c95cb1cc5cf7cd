/** Settings and resources: what a board keeps in flash. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Answer, ChannelHandler } from "../channel.js";
import { type Hardware, numberOf, onFlash, type PeripheralOptions, textOf } from "./hardware.js";

export class KeyValueStore implements ChannelHandler {
	readonly #hardware: Hardware;

	constructor({ hardware }: PeripheralOptions) {
		this.#hardware = hardware;
	}

	onCall(request: string, detail: unknown): Answer | undefined {
		const { nvs } = this.#hardware;
		return onFlash(this.#hardware, () => {
			if (request === "read") return { detail: nvs.read(String(detail)) ?? null };
			if (request === "write") nvs.write(textOf(detail, "key"), textOf(detail, "value"));
			else nvs.delete(String(detail));
			return undefined;
		});
	}
}

const wavHeaderBytes = 44;
/** Moddable's MAUD header for 16 kHz, mono, 16 bits, uncompressed (tools/wav2maud.js). */
const maudHeader = [0x6d, 0x61, 1, 16, 0x80, 0x3e, 1, 0];

/** `<name>.maud` is made of `device/chimes/<name>.wav`, as the SDK's build does. */
export class Resource implements ChannelHandler {
	readonly #bytes: Buffer;

	constructor({ channel }: PeripheralOptions) {
		const path = textOf(channel.options, "path");
		const name = /^(\w+)\.maud$/.exec(path)?.[1];
		if (name === undefined) throw new Error(`there is no resource ${path}`);
		const wav = readFileSync(
			fileURLToPath(new URL(`../../../../device/chimes/${name}.wav`, import.meta.url)),
		);
		const samples = wav.subarray(wavHeaderBytes);
		const sampleCount = Buffer.alloc(4);
		sampleCount.writeUInt32LE(samples.length / 2);
		this.#bytes = Buffer.concat([Buffer.from(maudHeader), sampleCount, samples]);
	}

	onCall(request: string, detail: unknown): Answer {
		if (request === "status") return { detail: { byteLength: this.#bytes.length } };
		const offset = numberOf(detail, "offset");
		return { payload: this.#bytes.subarray(offset, offset + numberOf(detail, "byteLength")) };
	}
}
