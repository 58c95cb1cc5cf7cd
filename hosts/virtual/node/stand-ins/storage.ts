/** Settings and resources: what a board keeps in flash. */

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { isRecord } from "../../../../device/protocol/schema.js";
import { numberOf, type StandIn, textOf } from "./stand-in.js";

/** Key-value pairs in memory or, where `file` is given, written whole at each change. */
export class Settings {
	readonly #file: string | undefined;
	readonly #values: Map<string, string>;

	constructor(file?: string) {
		this.#file = file;
		this.#values = new Map(file ? readPairs(file) : []);
	}

	get(key: string): string | undefined {
		return this.#values.get(key);
	}

	set(key: string, value: string | undefined): void {
		if (value === undefined) this.#values.delete(key);
		else this.#values.set(key, value);
		if (!this.#file) return;
		mkdirSync(dirname(this.#file), { recursive: true });
		const temporary = `${this.#file}.${process.pid}`;
		writeFileSync(temporary, JSON.stringify(Object.fromEntries(this.#values), null, "\t"), { mode: 0o600 });
		renameSync(temporary, this.#file);
	}
}

function readPairs(file: string): [string, string][] {
	try {
		const content: unknown = JSON.parse(readFileSync(file, "utf8"));
		if (!isRecord(content)) return [];
		return Object.entries(content).map(([key, value]) => [key, String(value)]);
	} catch {
		// As with a board whose NVS is erased or broken: it starts with nothing set.
		return [];
	}
}

export function keyValue(settings: Settings): StandIn {
	return () => ({
		onCall: (request, detail) => {
			if (request === "read") return { detail: settings.get(String(detail)) ?? null };
			if (request === "write") settings.set(textOf(detail, "key"), textOf(detail, "value"));
			else settings.set(String(detail), undefined);
			return undefined;
		},
	});
}

const wavHeaderBytes = 44;
/** Moddable's MAUD header for 16 kHz, mono, 16 bits, uncompressed (tools/wav2maud.js). */
const maudHeader = [0x6d, 0x61, 1, 16, 0x80, 0x3e, 1, 0];

/** `<name>.maud` is made of `device/chimes/<name>.wav`, as the SDK's build does. */
export const resource: StandIn = (channel) => {
	const path = textOf(channel.options, "path");
	const name = /^(\w+)\.maud$/.exec(path)?.[1];
	if (name === undefined) throw new Error(`there is no resource ${path}`);
	const wav = readFileSync(fileURLToPath(new URL(`../../../../device/chimes/${name}.wav`, import.meta.url)));
	const samples = wav.subarray(wavHeaderBytes);
	const sampleCount = Buffer.alloc(4);
	sampleCount.writeUInt32LE(samples.length / 2);
	const bytes = Buffer.concat([Buffer.from(maudHeader), sampleCount, samples]);
	return {
		onCall: (request, detail) => {
			if (request === "status") return { detail: { byteLength: bytes.length } };
			const offset = numberOf(detail, "offset");
			return { payload: bytes.subarray(offset, offset + numberOf(detail, "byteLength")) };
		},
	};
};
