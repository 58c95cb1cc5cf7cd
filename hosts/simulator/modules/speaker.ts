/**
 * The computer's sound card. It pulls small pieces from a queue, at its own pace; without a card nothing is pulled, and the
 * simulated device goes on, since its clock is the host's (moddable/silent-output.ts).
 */

import AudioOut from "embedded:io/audio/out";

/** Signed 16-bit mono at 16 kHz: 2 s. What a card that is too slow has not played by then is dropped. */
const queueBytes = 65_536;

export class Speaker {
	/** Made with the first sound: another program than the firmware, such as a test's, needs the heap itself. */
	#queue: Uint8Array | undefined;
	#first = 0;
	#byteCount = 0;
	#output: AudioOut | undefined;
	#gain = 0;

	/** From 0 to 1. */
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

	/** Drops what is queued. The SDK's stop() would go on playing silence. */
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

	/** The SDK plays silence for what is not written within the call. */
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
