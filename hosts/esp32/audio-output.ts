/**
 * The I2S output and the amplifier behind the codec. The amplifier is on only while the output runs, and after it has
 * started: what the codec makes of clocks that start and stop stays unheard, and an idle device does not hiss.
 */

import AudioOut from "embedded:io/audio/out";
import Digital from "embedded:io/digital";
import type { AudioOutputOptions, AudioOutput as Interface } from "../../device/host.js";

export interface AmplifiedOutputOptions extends AudioOutputOptions {
	/** GPIO that enables the amplifier while high. */
	readonly amplifierPin: number;
}

export class AudioOutput implements Interface {
	readonly #output: AudioOut;
	readonly #amplifier: Digital;

	constructor(options: AmplifiedOutputOptions) {
		const { amplifierPin, sampleRate, channels, bitsPerSample } = options;
		this.#amplifier = new Digital({ pin: amplifierPin, mode: Digital.Output, initialValue: 0 });
		this.#output = new AudioOut({ sampleRate, channels, bitsPerSample });
	}

	start(): void {
		this.#output.start();
		this.#amplifier.write(1);
	}

	stop(): void {
		this.#amplifier.write(0);
		this.#output.stop();
	}

	write(samples: Uint8Array): void {
		this.#output.write(samples);
	}

	close(): void {
		this.#amplifier.write(0);
		this.#amplifier.close();
		this.#output.close();
	}
}
