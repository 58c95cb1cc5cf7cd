/** Plays a rising tone, or silence while I2S is measured, through the firmware's codec and audio output drivers. */

import { pause } from "bring-up/pause";
import type { Host } from "../../../device/host.js";

const sampleRate = 16_000;
/** Block size of the audio output (device/host.ts), which buffers five blocks before it starts. */
const blockBytes = 4092;
const blocksBeforeStart = 5;
/** 1.3 s. */
const toneBlocks = 10;
const lowestHz = 200;
const highestHz = 4_000;
/** Peak value out of 32,767: quieter than a conversation. */
const amplitude = 8_000;
/** Duration of the codec's fade (device/host.ts) and of the first block. */
const settleMs = 150;

type Parts = Host["peripheral"];

/** @throws Error if the codec does not answer */
export function playTone(parts: Parts, volume: number): Promise<object> {
	return withSound(parts, volume, async () => {
		await pause((blockBytes * toneBlocks * 1000) / (sampleRate * 2));
		return {};
	});
}

/** @param measure called while the clocks run */
export function measureClocks(
	parts: Parts,
	measure: () => readonly number[],
): Promise<{ hz: readonly number[] }> {
	return withSound(parts, 0, async () => {
		await pause(settleMs);
		return { hz: measure() };
	});
}

async function withSound<T>(
	{ codec: Codec, audioOutput: AudioOutput }: Parts,
	volume: number,
	action: () => Promise<T>,
): Promise<T> {
	const tone = new Tone();
	const block = new Int16Array(blockBytes / 2);
	const codec = new Codec({});
	codec.volume = volume;
	const output = new AudioOutput({
		sampleRate,
		channels: 1,
		bitsPerSample: 16,
		onWritable: () => output.write(tone.next(block)),
	});
	try {
		if (!codec.isReady && volume > 0) throw new Error("The codec does not answer. Run the step codec first");
		for (let index = 0; index < blocksBeforeStart; index += 1) output.write(tone.next(block));
		output.start();
		codec.isMuted = false;
		const result = await action();
		codec.isMuted = true;
		await pause(settleMs);
		return result;
	} finally {
		output.stop();
		output.close();
		codec.close();
	}
}

/** Linear sweep from the lowest to the highest frequency, followed by silence. */
class Tone {
	#phase = 0;
	#position = 0;

	next(block: Int16Array): Uint8Array {
		const length = (toneBlocks * blockBytes) / 2;
		for (let index = 0; index < block.length; index += 1) {
			const share = this.#position / length;
			this.#position += 1;
			this.#phase += (2 * Math.PI * (lowestHz + (highestHz - lowestHz) * share)) / sampleRate;
			block[index] = share < 1 ? Math.round(amplitude * Math.sin(this.#phase)) : 0;
		}
		return new Uint8Array(block.buffer);
	}
}
