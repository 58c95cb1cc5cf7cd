/**
 * Sound card of the computer. Pulls samples from a queue at its own pace. Without a card nothing is pulled and the simulated device
 * continues, since the host provides its clock (moddable/silent-output.ts).
 */

import AudioOut from "embedded:io/audio/out";

/** 2 s of signed 16-bit mono at 16 kHz. Samples that a slow card has not played by then are discarded. */
const queueBytes = 65_536;

export class Speaker {
	/** Allocated for the first sound, because test programs need the heap. */
	#queue: Uint8Array | undefined;
	#first = 0;
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
		this.#byteCount = 0;
		this.#output?.close();
		this.#output = undefined;
	}

	play(samples: Uint8Array): void {
		this.#queue ??= new Uint8Array(queueBytes);
		for (let at = 0; at < samples.byteLength; ) {
			const free = Math.min(queueBytes - this.#byteCount, samples.byteLength - at);
			if (free === 0) return;
			const start = (this.#first + this.#byteCount) % queueBytes;
			const piece = samples.subarray(at, at + Math.min(free, queueBytes - start));
			this.#queue.set(piece, start);
			this.#byteCount += piece.byteLength;
			at += piece.byteLength;
		}
	}

	/** Writes queued samples. The SDK plays silence for samples not written within this call. */
	#pull(byteCount: number): void {
		const queue = this.#queue;
		if (!queue) return;
		for (let left = Math.min(byteCount, this.#byteCount); left > 0; ) {
			const piece = queue.subarray(this.#first, Math.min(queueBytes, this.#first + left));
			this.#output?.write(piece);
			this.#first = (this.#first + piece.byteLength) % queueBytes;
			this.#byteCount -= piece.byteLength;
			left -= piece.byteLength;
		}
	}
}
