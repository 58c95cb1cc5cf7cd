/** Buttons, sensors, LED ring, haptics, speaker and codec, which connect the firmware's drivers to the Board. */

import type { Peripherals } from "../../peripherals.js";
import type { Board } from "../board.js";
import type { Hardware, Opened, Simulate, Simulated } from "./hardware.js";

export const input: Simulate<"input"> = ({ options: { name }, send }, { board }) => ({
	calls: { value: () => board.input(name) },
	onClose: board.listen({
		onInput: (changed, value) => {
			if (changed === name) send("value", value ?? null);
		},
	}),
});

export const serial: Simulate<"serial"> = ({ send }, { board }) => ({
	posts: { write: (_detail, bytes) => board.writeSerial(bytes) },
	calls: { read: (limit) => board.readSerial(limit) },
	onClose: board.listen({ onSerialInput: () => send("received") }),
});

export const haptics: Simulate<"haptics"> = (_channel, { board }) => ({
	posts: {
		duty: (duty) => {
			board.hapticDuty = duty;
		},
	},
});

export const pixels: Simulate<"pixels"> = (_channel, { board }) => ({
	posts: {
		frame: (_detail, colors) => board.show(Uint8Array.from(colors)),
	},
});

/** Audio output. Plays written samples, or silence, when the firmware's host reports that their time has passed. */
export class AudioOutput implements Simulated<"audio"> {
	readonly #board: Board;
	#queued: Uint8Array[] = [];
	#isStarted = false;
	readonly posts: Peripherals["audio"]["posts"];

	constructor({ options: { sampleRate } }: Opened<"audio">, { board }: Hardware) {
		this.#board = board;
		this.posts = {
			write: (_detail, samples) => {
				const written = Uint8Array.from(samples);
				if (this.#isStarted) board.queue(written);
				else board.sound.push(written);
				this.#queued.push(written);
			},
			start: () => {
				this.#isStarted = true;
				board.play({ samples: Buffer.concat(this.#queued), sampleRate });
			},
			played: (byteCount) => board.played(this.#shift(byteCount)),
			stop: () => this.onClose(),
		};
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
	calls: {
		read: (register) => registersOf(board)[register] ?? 0,
		write: ({ register, value }) => {
			registersOf(board)[register] = value;
			board.notifyGain();
		},
	},
});

/** @throws Error if the codec does not answer */
function registersOf({ codec: { registers, isAnswering } }: Board): Uint8Array {
	if (!isAnswering) throw new Error("no acknowledge");
	return registers;
}
