/** Settings and resources: what a board keeps in flash. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type FlashOwner, guarded } from "./flash-owner.js";
import { numberOf, type StandIn, textOf } from "./stand-in.js";

export function keyValue(owner: Pick<FlashOwner, "nvs" | "onPowerCut">): StandIn {
	return () => ({
		onCall: (request, detail) =>
			guarded(owner, () => {
				if (request === "read") return { detail: owner.nvs.read(String(detail)) ?? null };
				if (request === "write") owner.nvs.write(textOf(detail, "key"), textOf(detail, "value"));
				else owner.nvs.delete(String(detail));
				return undefined;
			}),
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
