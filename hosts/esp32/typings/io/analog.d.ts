/** Replacement for the SDK's typing, which lacks close() and the chip's options (modules/io/analog/esp32). */

declare module "embedded:io/analog" {
	export interface AnalogOptions {
		pin: number;
		esp32?: {
			/** Values scaled to 0 to 2,450 mV instead of raw. Default: true. */
			calibrated?: boolean;
			/** Attenuation in decibels. */
			attenuation?: 0 | 2.5 | 6 | 12;
		};
	}

	export default class Analog {
		constructor(options: AnalogOptions);
		/** Resolution in bits. */
		readonly resolution: number;
		read(): number;
		close(): void;
	}
}
