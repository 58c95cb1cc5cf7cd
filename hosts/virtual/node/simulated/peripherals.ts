/** Buttons, sensors, LED ring, haptics, speaker and codec, which connect the firmware's drivers to the Board. */

import type { Board } from "../board.js";
import type { Hardware, Opened, Simulate, Simulated } from "./hardware.js";

export const input: Simulate<"input"> = ({ options: { name }, send }, { board }) => ({
	value: () => board.input(name),
	onClose: board.listen({
		onInput: (changed, value) => {
			if (changed === name) send("value", value ?? null);
		},
	}),
});

export const serial: Simulate<"serial"> = ({ send }, { board }) => ({
	write: (_detail, bytes) => board.writeSerial(bytes),
	read: (limit) => board.readSerial(limit),
	onClose: board.listen({ onSerialInput: () => send("received") }),
});

export const haptics: Simulate<"haptics"> = (_channel, { board }) => ({
	duty: (duty) => {
		board.hapticDuty = duty;
	},
});

export const pixels: Simulate<"pixels"> = (_channel, { board }) => ({
	frame: (_detail, colors) => board.show(Uint8Array.from(colors)),
});

/** Audio output. Plays written samples, or silence, when the firmware's host reports that their time has passed. */
export class AudioOutput implements Simulated<"audio"> {
	readonly #board: Board;
	readonly #sampleRate: number;
	#queued: Uint8Array[] = [];
	#isStarted = false;

	constructor({ options: { sampleRate } }: Opened<"audio">, { board }: Hardware) {
		this.#board = board;
		this.#sampleRate = sampleRate;
	}

	write(_detail: undefined, samples: Uint8Array): void {
		const written = Uint8Array.from(samples);
		if (this.#isStarted) this.#board.queue(written);
		else this.#board.sound.push(written);
		this.#queued.push(written);
	}

	start(): void {
		this.#isStarted = true;
		this.#board.play({ samples: Buffer.concat(this.#queued), sampleRate: this.#sampleRate });
	}

	played(byteCount: number): void {
		this.#board.played(this.#shift(byteCount));
	}

	stop(): void {
		this.onClose();
	}

	onClose(): void {
		this.#isStarted = false;
		this.#queued = [];
		this.#board.play(undefined);
	}

	/** @returns the next queued bytes, padded with silence */
	#shift(byteCount: number): Uint8Array {
		const taken = Buffer.alloc(byteCount);
		const queued = Buffer.concat(this.#queued);
		queued.copy(taken);
		this.#queued = [queued.subarray(byteCount)];
		return taken;
	}
}

/** Control bus of the ES8311. Like the SDK's driver, throws without an acknowledge. */
export const smbus: Simulate<"smbus"> = (_channel, { board }) => ({
	read: (register) => registersOf(board)[register] ?? 0,
	write: ({ register, value }) => {
		registersOf(board)[register] = value;
		board.notifyGain();
	},
});

/** @throws Error if the codec does not answer */
function registersOf({ codec: { registers, isAnswering } }: Board): Uint8Array {
	if (!isAnswering) throw new Error("no acknowledge");
	return registers;
}
