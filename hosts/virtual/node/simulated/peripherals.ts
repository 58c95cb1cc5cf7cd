/** Buttons, sensors, LED ring, haptics, speaker and codec: they connect the firmware's drivers with the Board. */

import { buttonNames } from "../../../../device/host.js";
import type { Board } from "../board.js";
import type { Answer, ChannelHandler } from "../channel.js";
import { numberOf, type PeripheralOptions, textOf } from "./hardware.js";

export class Button implements ChannelHandler {
	readonly onCall: () => Answer;
	readonly onClose: () => void;

	constructor({ channel, hardware: { board } }: PeripheralOptions) {
		const wanted = textOf(channel.options, "name");
		const name = buttonNames.find((button) => button === wanted);
		if (name === undefined) throw new Error(`there is no button ${wanted}`);
		this.onCall = () => ({ detail: board.isPressed(name) ? 1 : 0 });
		this.onClose = board.listen({
			onButton: (changed) => {
				if (changed === name) channel.send("edge");
			},
		});
	}
}

export class LightSensor implements ChannelHandler {
	readonly onCall: () => Answer;
	readonly onClose: () => void;

	constructor({ channel, hardware: { board } }: PeripheralOptions) {
		this.onCall = () => ({ detail: board.light });
		this.onClose = board.listen({ onLight: (level) => channel.send("value", level) });
	}
}

export class CapacitivePad implements ChannelHandler {
	readonly onCall: () => Answer;
	readonly onClose: () => void;

	constructor({ channel, hardware: { board } }: PeripheralOptions) {
		this.onCall = () => ({ detail: board.touchCount });
		this.onClose = board.listen({ onTouch: (count) => channel.send("value", count) });
	}
}

class BoardPart {
	protected readonly board: Board;

	constructor({ hardware }: PeripheralOptions) {
		this.board = hardware.board;
	}
}

export class PixelStrip extends BoardPart implements ChannelHandler {
	onPost(_request: string, _detail: unknown, frame: Buffer): void {
		this.board.pixels = Uint8Array.from(frame);
		this.board.frameCount += 1;
	}
}

export class HapticMotor extends BoardPart implements ChannelHandler {
	onPost(_request: string, duty: unknown): void {
		this.board.hapticDuty = Number(duty);
	}
}

/** What the firmware writes is played as its host says that its time has passed; what was not written is silent. */
export class AudioOutput extends BoardPart implements ChannelHandler {
	readonly #sampleRate: number;
	#queued: Uint8Array[] = [];
	#isStarted = false;

	constructor(options: PeripheralOptions) {
		super(options);
		this.#sampleRate = numberOf(options.channel.options, "sampleRate");
	}

	onPost(request: string, detail: unknown, samples: Buffer): void {
		switch (request) {
			case "write": {
				const written = Uint8Array.from(samples);
				if (this.#isStarted) this.board.queue(written);
				else this.board.sound.push(written);
				this.#queued.push(written);
				return;
			}
			case "start":
				this.#isStarted = true;
				this.board.play({ samples: Buffer.concat(this.#queued), sampleRate: this.#sampleRate });
				return;
			case "played":
				this.board.played(this.#take(Number(detail)));
				return;
			case "stop":
				this.#stop();
		}
	}

	onClose(): void {
		this.#stop();
	}

	#stop(): void {
		this.#isStarted = false;
		this.#queued = [];
		this.board.play(undefined);
	}

	/** @returns the next bytes of what is queued, followed by silence where it is shorter */
	#take(byteCount: number): Uint8Array {
		const taken = Buffer.alloc(byteCount);
		const queued = Buffer.concat(this.#queued);
		queued.copy(taken);
		this.#queued = [queued.subarray(byteCount)];
		return taken;
	}
}

/** The ES8311's control bus. As with the SDK's driver, no acknowledge is an exception. */
export class SMBus extends BoardPart implements ChannelHandler {
	onCall(request: string, detail: unknown): Answer | undefined {
		const { registers, isAnswering } = this.board.codec;
		if (!isAnswering) throw new Error("no acknowledge");
		const register = numberOf(detail, "register");
		if (request === "read") return { detail: registers[register] ?? 0 };
		this.board.writeCodec(register, numberOf(detail, "value"));
		return undefined;
	}
}
