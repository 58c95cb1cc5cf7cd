/** The boards' own codec driver, on a control bus that ends in Node. */

import { type BusOptions, ES8311, type RegisterBus } from "board/es8311";
import Channel from "./channel.js";

/** Moddable's `embedded:io/smbus`. */
class SMBus implements RegisterBus {
	readonly #channel: Channel;

	constructor(options: BusOptions) {
		this.#channel = new Channel("smbus", { address: options.address }, () => {});
	}

	readUint8(register: number): number {
		return Number(this.#channel.call("read", { register }).detail);
	}

	writeUint8(register: number, value: number): void {
		this.#channel.call("write", { register, value });
	}

	close(): void {
		this.#channel.close();
	}
}

export default class Codec extends ES8311 {
	constructor() {
		super({ io: SMBus, data: 8, clock: 9 });
	}
}
