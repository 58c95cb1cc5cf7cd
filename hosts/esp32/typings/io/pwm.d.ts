/** Replacement for the SDK's typing, which lacks close() (modules/io/pwm/esp32). */

declare module "embedded:io/pwm" {
	export interface PWMOptions {
		pin: number;
		/** Frequency in hertz. */
		hz?: number;
	}

	export default class PWM {
		constructor(options: PWMOptions);
		/** Resolution in bits. */
		readonly resolution: number;
		write(value: number): void;
		close(): void;
	}
}
