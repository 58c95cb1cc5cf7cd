/** Replacement for the SDK's typing, which lacks close() (modules/io/audioout/esp32). */

declare module "embedded:io/audio/out" {
	export interface AudioOutOptions {
		bitsPerSample?: 8 | 16;
		channels?: 1 | 2;
		/** Sample rate in hertz. */
		sampleRate?: number;
		/** Called also by the constructor and by start(). The count is too high by the bytes written before start(). */
		onWritable?: (byteCount: number) => void;
	}

	export default class AudioOut {
		constructor(options: AudioOutOptions);
		/** Factor, 0 to 1. */
		volume: number;
		/** Throws if the samples do not fit. */
		write(samples: ArrayBuffer | Uint8Array): void;
		start(): void;
		stop(): void;
		close(): void;
	}
}
