/** Playback of a device's speaker at the gain of its codec. Browsers allow sound only after a click. */

import { sampleRate } from "../../../device/peripherals/track.js";

/** Fade time similar to that of the codec, to avoid clicks. */
const fadeSeconds = 0.01;

export class Speaker {
	#context: AudioContext | undefined;
	#volume: GainNode | undefined;
	readonly #sources = new Set<AudioBufferSourceNode>();
	/** End of the queued samples, by the clock of the context. */
	#endsAt = 0;
	#gain = 0;

	get isOn(): boolean {
		return this.#context !== undefined;
	}

	/** Starts playback; must be called from a click. @throws DOMException if the browser denies it */
	async turnOn(): Promise<void> {
		const context = new AudioContext();
		this.#volume = new GainNode(context, { gain: this.#gain });
		this.#volume.connect(context.destination);
		this.#context = context;
		await context.resume();
	}

	turnOff(): void {
		void this.#context?.close();
		this.#context = undefined;
		this.#volume = undefined;
		this.#sources.clear();
		this.#endsAt = 0;
	}

	/** Gain factor: 1 is unchanged, 0 is silence. */
	set gain(gain: number) {
		this.#gain = gain;
		if (this.#context) this.#volume?.gain.setTargetAtTime(gain, this.#context.currentTime, fadeSeconds);
	}

	/** Plays samples after those that play. @param base64 signed 16-bit samples, little-endian */
	play(base64: string): void {
		const samples = decodeSamples(base64);
		if (!this.#context || !this.#volume || samples.length === 0) return;
		const buffer = new AudioBuffer({ length: samples.length, sampleRate });
		buffer.copyToChannel(samples, 0);
		const source = new AudioBufferSourceNode(this.#context, { buffer });
		source.connect(this.#volume);
		source.addEventListener("ended", () => this.#sources.delete(source));
		this.#sources.add(source);
		const startsAt = Math.max(this.#endsAt, this.#context.currentTime);
		source.start(startsAt);
		this.#endsAt = startsAt + buffer.duration;
	}

	stop(): void {
		for (const source of this.#sources) source.stop();
		this.#sources.clear();
		this.#endsAt = 0;
	}
}

function decodeSamples(base64: string): Float32Array<ArrayBuffer> {
	const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
	const view = new DataView(bytes.buffer);
	return Float32Array.from(
		{ length: bytes.length >> 1 },
		(_, index) => view.getInt16(index * 2, true) / 32_768,
	);
}
