/** System information, settings, resources and RTC memory. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { onFlash, type Simulate } from "./hardware.js";

export const system: Simulate<"system"> = (_channel, { facts }) => ({ facts: () => facts });

export const rtc: Simulate<"rtc"> = (_channel, { rtc: memory }) => ({
	crash: () => memory.crash,
	clear: () => memory.clearCrash(),
	lineCount: () => memory.trace.lineCount,
	read: (count) => memory.trace.read(count),
});

export const keyValue: Simulate<"key-value"> = (_channel, hardware) => ({
	read: (key) => hardware.nvs.read(key),
	write: ({ key, value }) => onFlash(hardware, () => hardware.nvs.write(key, value)),
	delete: (key) => onFlash(hardware, () => hardware.nvs.delete(key)),
});

const wavHeaderBytes = 44;
/** Moddable's MAUD header for 16 kHz, mono, 16 bits, uncompressed (tools/wav2maud.js). */
const maudHeader = [0x6d, 0x61, 1, 16, 0x80, 0x3e, 1, 0];

/** Converts `device/chimes/<name>.wav` to `<name>.maud`, like the SDK's build. */
export const resource: Simulate<"resource"> = ({ options: { path } }) => {
	const name = /^(\w+)\.maud$/.exec(path)?.[1];
	if (name === undefined) throw new Error(`unknown resource ${path}`);
	const wav = readFileSync(fileURLToPath(new URL(`../../../../device/chimes/${name}.wav`, import.meta.url)));
	const samples = wav.subarray(wavHeaderBytes);
	const sampleCount = Buffer.alloc(4);
	sampleCount.writeUInt32LE(samples.length / 2);
	const bytes = Buffer.concat([Buffer.from(maudHeader), sampleCount, samples]);
	return {
		byteLength: () => bytes.length,
		read: ({ offset, byteLength }) => bytes.subarray(offset, offset + byteLength),
	};
};
