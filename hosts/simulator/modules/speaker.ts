/**
 * Sound card of the computer. Pulls samples from a queue at its own pace. Without a card nothing is pulled and the simulated device
 * continues, since the host provides its clock (moddable/silent-output.ts).
 */

import AudioOut from "embedded:io/audio/out";

/** 2 s of signed 16-bit mono at 16 kHz. Samples that a slow card has not played by then are discarded. */
const mostBytes = 65_536;

export class Speaker {
	#queue: Uint8Array[] = [];
	#byteCount = 0;
	#output: AudioOut | undefined;
	#gain = 0;

	/** Gain, 0 to 1. */
	set gain(gain: number) {
		this.#gain = gain;
		if (this.#output) this.#output.volume = gain;
	}

	start(): void {
		this.#output ??= new AudioOut({
			sampleRate: 16_000,
			channels: 1,
			bitsPerSample: 16,
			onWritable: (byteCount) => this.#pull(byteCount),
		});
		this.#output.volume = this.#gain;
		this.#output.start();
	}

	/** Discards queued samples and closes the output. The SDK's stop() would continue to play silence. */
	stop(): void {
		this.#queue = [];
		this.#byteCount = 0;
		this.#output?.close();
		this.#output = undefined;
	}

	play(samples: Uint8Array): void {
		if (this.#byteCount + samples.byteLength > mostBytes) return;
		this.#queue.push(samples.slice());
		this.#byteCount += samples.byteLength;
	}

	/** Writes queued samples. The SDK plays silence for samples not written within this call. */
	#pull(byteCount: number): void {
		for (let left = byteCount; left > 0; ) {
			const next = this.#queue.shift();
			if (!next) return;
			const piece = next.subarray(0, left);
			if (piece.byteLength < next.byteLength) this.#queue.unshift(next.subarray(left));
			this.#output?.write(piece);
			this.#byteCount -= piece.byteLength;
			left -= piece.byteLength;
		}
	}
}
