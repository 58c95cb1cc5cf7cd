/** Replacement for the SDK's typing, which lacks close() and declares the options as an array (modules/io/i2c/smbus.js). */

declare module "embedded:io/smbus" {
	export interface SMBusOptions {
		data: number;
		clock: number;
		hz: number;
		address: number;
	}

	export default class SMBus {
		constructor(options: SMBusOptions);
		/** Throws, like writeUint8, if the chip does not acknowledge. */
		readUint8(register: number): number;
		writeUint8(register: number, value: number): void;
		close(): void;
	}
}
