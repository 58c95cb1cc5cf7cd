/** In place of the SDK's typing, which lacks close() and the chip's own options (modules/io/analog/esp32). */

declare module "embedded:io/analog" {
	export interface AnalogOptions {
		pin: number;
		esp32?: {
			/** In millivolts of 2,450 mV, else raw. Default true. */
			calibrated?: boolean;
			/** In decibels. */
			attenuation?: 0 | 2.5 | 6 | 12;
		};
	}

	export default class Analog {
		constructor(options: AnalogOptions);
		/** Bits. */
		readonly resolution: number;
		read(): number;
		close(): void;
	}
}
