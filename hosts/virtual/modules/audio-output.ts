/**
 * Moddable's `embedded:io/audio/out` as it behaves on ESP32: five blocks fit before `start`, which forgets what was counted;
 * only whole blocks are ever heard; `stop` drops what is queued. Node hears what would sound.
 */

import type { AudioOutputOptions, AudioOutput as Output } from "../../../device/host.js";
import Channel from "./channel.js";

const queueBytes = 5 * 4092;

export default class AudioOutput implements Output {
	readonly #channel: Channel;
	#writableBytes = queueBytes;
	#isStarted = false;

	constructor(options: AudioOutputOptions) {
		const { sampleRate, channels, bitsPerSample } = options;
		this.#channel = new Channel("audio", { sampleRate, channels, bitsPerSample }, () => {});
	}

	write(samples: Uint8Array): void {
		if (samples.byteLength > this.#writableBytes) throw new Error("insufficient space");
		if (samples.byteLength & 1) throw new Error("full samples only");
		this.#writableBytes -= samples.byteLength;
		this.#channel.post("write", undefined, samples);
	}

	start(): void {
		if (this.#isStarted) return;
		this.#isStarted = true;
		this.#writableBytes = queueBytes;
		this.#channel.post("start");
	}

	stop(): void {
		if (!this.#isStarted) return;
		this.#isStarted = false;
		this.#writableBytes = queueBytes;
		this.#channel.post("stop");
	}

	close(): void {
		this.#channel.close();
	}
}
