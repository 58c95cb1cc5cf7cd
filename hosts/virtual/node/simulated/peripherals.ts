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
	readonly onClose: () => void;

	constructor({ channel, hardware: { board } }: PeripheralOptions) {
		channel.send("value", board.light);
		this.onClose = board.listen({ onLight: (level) => channel.send("value", level) });
	}
}

export class CapacitivePad implements ChannelHandler {
	readonly onClose: () => void;

	constructor({ channel, hardware: { board } }: PeripheralOptions) {
		channel.send("value", board.touchCount);
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

/** The firmware writes a chime whole before it starts the output (device/peripherals/audio.ts). */
export class AudioOutput extends BoardPart implements ChannelHandler {
	readonly #sampleRate: number;
	#queued: Uint8Array[] = [];

	constructor(options: PeripheralOptions) {
		super(options);
		this.#sampleRate = numberOf(options.channel.options, "sampleRate");
	}

	onPost(request: string, _detail: unknown, samples: Buffer): void {
		if (request === "write") {
			const written = Uint8Array.from(samples);
			this.board.sound.push(written);
			this.#queued.push(written);
			return;
		}
		const isStart = request === "start";
		this.board.play(
			isStart ? { samples: Buffer.concat(this.#queued), sampleRate: this.#sampleRate } : undefined,
		);
		this.#queued = [];
	}

	onClose(): void {
		this.board.play(undefined);
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
