/** In place of the SDK's typing, which lacks close() and takes its options for a list (modules/io/i2c/smbus.js). */

declare module "embedded:io/smbus" {
	export interface SMBusOptions {
		data: number;
		clock: number;
		hz: number;
		address: number;
	}

	export default class SMBus {
		constructor(options: SMBusOptions);
		/** Each throws where the chip does not acknowledge. */
		readUint8(register: number): number;
		writeUint8(register: number, value: number): void;
		close(): void;
	}
}
