/** In place of the SDK's typing, which lacks close() (modules/io/audioout/esp32). */

declare module "embedded:io/audio/out" {
	export interface AudioOutOptions {
		bitsPerSample?: 8 | 16;
		channels?: 1 | 2;
		/** In hertz. */
		sampleRate?: number;
		/** Also called once at the constructor and at start(). The count is too high by what was written before start(). */
		onWritable?: (byteCount: number) => void;
	}

	export default class AudioOut {
		constructor(options: AudioOutOptions);
		/** A factor, 0 to 1. */
		volume: number;
		/** Throws where the samples do not fit. */
		write(samples: ArrayBuffer | Uint8Array): void;
		start(): void;
		stop(): void;
		close(): void;
	}
}
