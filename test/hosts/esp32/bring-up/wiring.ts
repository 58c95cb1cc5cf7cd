/**
 * Simulated wiring of a board, which may differ from pins.ts, and the person who observes it and replies to prompts.
 * The bring-up program itself runs in XS.
 */

import { readFileSync } from "node:fs";
import { type ButtonName, buttonNames } from "../../../../device/host.js";
import type { Board } from "../../../../hosts/virtual/node/board.js";
import type { Channel, ChannelHandler } from "../../../../hosts/virtual/node/channel.js";
import { type Partition, partitionsFile, readPartitions } from "../../../../scripts/boards/flash-image.js";
import type { AllPins } from "../../../../scripts/boards/pins.js";
import type { Person, Reading } from "../../../../scripts/bring-up/step.js";

export interface Wiring {
	/** undefined: no codec. */
	codec: { readonly data: number; readonly clock: number; readonly address: number } | undefined;
	/** Pull-down of its data line. */
	lowPin?: number;
	readonly button: Record<ButtonName, number>;
	/** Pins that are permanently pulled to ground. */
	readonly stuckPins: number[];
	ring: { count: number; order: string };
	/** Whether a speaker is connected to the amplifier. */
	hasSpeaker: boolean;
	/** Pins with I2S clocks. */
	readonly clockPins: { readonly pin: number; readonly hz: number }[];
	isMotorAlive: boolean;
	lightPin: number;
	/** Counts that a finger adds to the baseline. */
	touchRise: number;
	partitions: readonly Partition[];
}

export function wiringOf(pins: AllPins): Wiring {
	return {
		codec: { ...pins.codec, address: 0x18 },
		button: { ...pins.button },
		stuckPins: [],
		ring: { count: 12, order: "GRB" },
		hasSpeaker: true,
		clockPins: [
			{ pin: pins.i2s.masterClock, hz: 4_096_000 },
			{ pin: pins.i2s.bitClock, hz: 512_000 },
			{ pin: pins.i2s.wordSelect, hz: 16_000 },
		],
		isMotorAlive: true,
		lightPin: pins.ambientLight ?? -1,
		touchRise: 7_000,
		partitions: readPartitions(readFileSync(partitionsFile, "utf8")),
	};
}

/** Counts of a pad without a finger. */
const untouched = 24_000;
const codecIds: Readonly<Record<number, number>> = { 253: 0x83, 254: 0x11 };

export class WiredBoard {
	readonly wiring: Wiring;
	readonly #pins: AllPins;
	#send: (line: string) => void = () => {};
	#pressed: ButtonName | undefined;
	#light = 2_500;
	/** Bytes sent to the ring in LED order: red, green and blue. */
	pixels: readonly (readonly number[])[] = [];
	/** Since the latest prompt. */
	hasSounded = false;
	hasMoved = false;
	/** Simulated parts of the firmware's drivers. */
	board: Board | undefined;

	constructor(pins: AllPins, wiring: Wiring) {
		this.#pins = pins;
		this.wiring = wiring;
	}

	/** Options for VirtualDevice. */
	readonly open = (channel: Channel, board: Board): ChannelHandler | undefined => {
		switch (channel.kind) {
			case "bring-up":
				this.#open(board, (line) => channel.send("line", line));
				return {
					onCall: (name, values) => ({
						detail: this.#measure(name, Array.isArray(values) ? values.map(Number) : []),
					}),
					onPost: (_name, pixels) => {
						if (Array.isArray(pixels)) this.pixels = pixels;
					},
				};
			case "haptics":
				return {
					onPost: (_request, duty) => {
						this.hasMoved ||= this.wiring.isMotorAlive && Number(duty) > 0;
					},
				};
			default:
				return undefined;
		}
	};

	write(line: string): void {
		this.#send(line);
	}

	press(name: ButtonName | undefined): void {
		this.#pressed = name;
	}

	set light(value: number) {
		this.#light = value;
		if (this.board && this.wiring.lightPin === this.#pins.ambientLight) this.board.light = value;
	}

	set isTouched(isTouched: boolean) {
		if (this.board) this.board.touchCount = untouched + (isTouched ? this.wiring.touchRise : 0);
	}

	/** Color of the first LED; undefined: it is dark. */
	get firstColor(): string | undefined {
		const [red = 0, green = 0, blue = 0] = this.pixels[0] ?? [];
		// Color order of the driver, given in pins.ts.
		const sent = Array.from(
			this.#pins.ledOrder ?? "GRB",
			(letter) => ({ R: red, G: green, B: blue })[letter] ?? 0,
		);
		const lit = Array.from(this.wiring.ring.order).filter((_, index) => (sent[index] ?? 0) > 0);
		if (this.wiring.ring.count === 0 || lit.length === 0) return undefined;
		return lit.length > 1 ? "another" : ({ R: "red", G: "green", B: "blue" }[lit[0] ?? ""] ?? "another");
	}

	#open(board: Board, send: (line: string) => void): void {
		this.#send = send;
		if (this.board === board) return;
		this.board = board;
		const { codec } = this.wiring;
		const { data, clock } = this.#pins.codec;
		board.codec.isAnswering = codec?.data === data && codec.clock === clock && codec.address === 0x18;
		board.listen({
			onSound: (sound) => {
				this.hasSounded ||= sound !== undefined && this.wiring.hasSpeaker && board.gain > 0;
			},
			onGain: (gain) => {
				this.hasSounded ||= gain > 0 && board.isSounding && this.wiring.hasSpeaker;
			},
		});
	}

	#measure(name: string, values: readonly number[]): string | number {
		const [first = -1, second = -1, third = -1, fourth = -1] = values;
		const { codec, lowPin, stuckPins, button, partitions, clockPins, lightPin } = this.wiring;
		switch (name) {
			case "partitions":
				return JSON.stringify(partitions.map(({ name, offset, size }) => [name, offset, size]));
			case "probe":
				if (lowPin === first) return -1;
				if (lowPin === second) return -2;
				return codec && codec.data === first && codec.clock === second && codec.address === third ? 1 : 0;
			case "register":
				return codec?.data === first && codec.clock === second && codec.address === third
					? (codecIds[fourth] ?? 0)
					: -1;
			case "level":
				return stuckPins.includes(first) || (this.#pressed && button[this.#pressed] === first) ? 0 : 1;
			case "edges":
				return Math.round(((clockPins.find(({ pin }) => pin === first)?.hz ?? 0) * second) / 1000);
			case "analog":
				return first === lightPin ? this.#light : 1_000 + (first % 3);
			default:
				throw new Error(`nothing is measured by ${name}`);
		}
	}
}

const readsUntilEnter = 4;

/** Follows a prompt. @returns the observation */
export class SimulatedPerson implements Person {
	readonly told: string[] = [];
	readonly #wired: WiredBoard;

	constructor(wired: WiredBoard) {
		this.#wired = wired;
	}

	print(text: string): void {
		this.told.push(text);
	}

	async choose<const C extends readonly string[]>(question: string, choices: C): Promise<C[number]> {
		const answer = this.#answer(question);
		const chosen = choices.find((choice) => choice === answer);
		if (chosen === undefined) throw new Error(`"${answer}" is no answer to: ${question}`);
		return chosen;
	}

	async prompt(): Promise<string> {
		return String(Math.min(this.#wired.pixels.length, this.#wired.wiring.ring.count));
	}

	async watch<T>(question: string, read: () => Promise<Reading<T>>): Promise<T | undefined> {
		this.#act(question);
		for (let count = 0; count < readsUntilEnter; count += 1) {
			const { result } = await read();
			if (result !== undefined) return result;
		}
		return undefined;
	}

	#act(question: string): void {
		const wired = this.#wired;
		const named = buttonNames.find((name) =>
			question.includes({ play: "play", mute: "mute", volumeUp: "volume +", volumeDown: "volume −" }[name]),
		);
		if (question.startsWith("Press ")) wired.press(named);
		else if (question.startsWith("Release")) wired.press(undefined);
		else if (question.startsWith("Leave the sensor")) wired.light = 2_500;
		else if (question.startsWith("Cover the sensor")) wired.light = 300;
		else if (question.startsWith("Do not touch")) wired.isTouched = false;
		else if (question.startsWith("Put a finger")) wired.isTouched = true;
		else throw new Error(`this person does not know what to do: ${question}`);
	}

	#answer(question: string): string {
		const wired = this.#wired;
		if (question === "Start?") return "start";
		if (question === "Continue?") return "continue";
		if (question.includes("Which color")) return wired.firstColor ?? "no LED is lit";
		if (question.includes("around the ring")) return wired.wiring.ring.count > 0 ? "yes" : "no";
		if (question.includes("motor")) return this.#yes("hasMoved");
		if (question.includes("muted")) return this.#yes("hasSounded") === "yes" ? "no" : "yes";
		return this.#yes("hasSounded");
	}

	#yes(what: "hasMoved" | "hasSounded"): string {
		const was = this.#wired[what];
		this.#wired[what] = false;
		return was ? "yes" : "no";
	}
}
