/** Plays what a device's speaker gets, as loud as its codec is set. Browsers allow sound only after a person has asked for it. */

/** About that of the codec, so that a fade does not click. */
const fadeSeconds = 0.01;

export interface Heard {
	/** From -1 to 1. */
	readonly samples: Float32Array<ArrayBuffer>;
	/** In hertz. */
	readonly sampleRate: number;
}

export class Speaker {
	#context: AudioContext | undefined;
	#volume: GainNode | undefined;
	readonly #sources = new Set<AudioBufferSourceNode>();
	#sampleRate = 0;
	/** When what is queued ends, by the context's clock; undefined: nothing plays. */
	#endsAt: number | undefined;
	#gain = 0;

	get isOn(): boolean {
		return this.#context !== undefined;
	}

	/** To be called when a person clicks. @throws DOMException where the browser allows no sound */
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
		this.#endsAt = undefined;
	}

	/** A factor: 1 is as loud as the samples, 0 is silence. */
	set gain(gain: number) {
		this.#gain = gain;
		if (this.#context) this.#volume?.gain.setTargetAtTime(gain, this.#context.currentTime, fadeSeconds);
	}

	play({ samples, sampleRate }: Heard): void {
		this.stop();
		if (!this.#context) return;
		this.#sampleRate = sampleRate;
		this.#endsAt = this.#context.currentTime;
		this.append(samples);
	}

	/** Follows what plays; does nothing where nothing does. */
	append(samples: Float32Array<ArrayBuffer>): void {
		if (!this.#context || !this.#volume || this.#endsAt === undefined || samples.length === 0) return;
		const buffer = new AudioBuffer({ length: samples.length, sampleRate: this.#sampleRate });
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
		this.#endsAt = undefined;
	}
}

/** @param base64 signed samples of 16 bits, little-endian */
export function decodeSamples(base64: string): Float32Array<ArrayBuffer> {
	const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
	const view = new DataView(bytes.buffer);
	return Float32Array.from(
		{ length: bytes.length >> 1 },
		(_, index) => view.getInt16(index * 2, true) / 32_768,
	);
}
