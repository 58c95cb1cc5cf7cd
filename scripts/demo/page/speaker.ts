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
	#source: AudioBufferSourceNode | undefined;
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
		this.#source = undefined;
	}

	/** A factor: 1 is as loud as the samples, 0 is silence. */
	set gain(gain: number) {
		this.#gain = gain;
		if (this.#context) this.#volume?.gain.setTargetAtTime(gain, this.#context.currentTime, fadeSeconds);
	}

	play({ samples, sampleRate }: Heard): void {
		this.stop();
		if (!this.#context || !this.#volume) return;
		const buffer = new AudioBuffer({ length: samples.length, sampleRate });
		buffer.copyToChannel(samples, 0);
		this.#source = new AudioBufferSourceNode(this.#context, { buffer });
		this.#source.connect(this.#volume);
		this.#source.start();
	}

	stop(): void {
		this.#source?.stop();
		this.#source = undefined;
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
