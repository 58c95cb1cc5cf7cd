/** Simulated ES8311: an SMBus that keeps registers and every write, and that can be unplugged. */

import type { BusOptions, RegisterBus } from "../../../hosts/esp32/es8311.js";

export class CodecBench {
	/** Register and value, in order. */
	readonly writes: [number, number][] = [];
	readonly registers = new Map<number, number>([
		[0xfd, 0x83],
		[0xfe, 0x11],
	]);
	/** Options of each opened bus. */
	readonly opened: BusOptions[] = [];
	closedCount = 0;
	isPlugged = true;
	/** `io` option for a driver. */
	readonly io: new (
		options: BusOptions,
	) => RegisterBus;

	constructor() {
		const bench = this;
		this.io = class {
			constructor(options: BusOptions) {
				bench.opened.push(options);
			}
			readUint8(register: number): number {
				bench.#answer();
				return bench.registers.get(register) ?? 0;
			}
			writeUint8(register: number, value: number): void {
				bench.#answer();
				bench.writes.push([register, value]);
				bench.registers.set(register, value);
			}
			close(): void {
				bench.closedCount += 1;
			}
		};
	}

	#answer(): void {
		if (!this.isPlugged) throw new Error("NACK");
	}

	/** Values written to a register since `forget`, in order. */
	written(register: number): number[] {
		return this.writes.filter(([number]) => number === register).map(([, value]) => value);
	}

	forget(): void {
		this.writes.length = 0;
	}
}
