/**
 * The board that a virtual device stands for: what a person can press, light or touch, and what it shows, sounds and
 * shakes. It outlives a restart of the firmware, as hardware does.
 */

import type { ButtonName } from "../../../device/host.js";

/** One Wi-Fi access point, in reach or not. */
export interface AccessPoint {
	readonly ssid: string;
	/** In dBm. */
	readonly rssi: number;
	/** Absent: every password is good. */
	readonly password?: string;
}

/** A part of the board that firmware reads: it hears of each change. */
export interface BoardListener {
	onButton?(name: ButtonName, isPressed: boolean): void;
	onLight?(level: number | undefined): void;
	onTouch?(count: number): void;
	onAccessPoint?(accessPoint: AccessPoint | undefined): void;
}

/** What an ESP32-S3 counts on a pad, without a finger and with one. */
const untouchedCount = 24_000;
const touchedCount = 31_000;

export class Board {
	readonly #listeners = new Set<BoardListener>();
	readonly #pressed = new Set<ButtonName>();
	#light: number | undefined = 1500;
	#touchCount = untouchedCount;
	#accessPoint: AccessPoint | undefined = { ssid: "virtual", rssi: -48 };

	/** The LED ring: red, green, blue for each of twelve pixels. */
	pixels = new Uint8Array(36);
	/** Frames shown since power-on. */
	frameCount = 0;
	/** What the haptic motor's PWM was last set to, 0 to 1023. */
	hapticDuty = 0;
	/** The codec's registers, and whether it acknowledges. */
	readonly codec = { registers: es8311Registers(), isAnswering: true };
	/** What was queued for the speaker, since power-on. */
	readonly sound: Uint8Array[] = [];
	isSounding = false;
	/** What the firmware tells a DHCP server. */
	hostname = "";
	/** The time server that was asked last; undefined: the default. */
	timeServer: unknown;
	/** What a time server answers: milliseconds since 1970; undefined: there is none in reach. */
	wallClock: (() => number) | undefined = Date.now;

	/** @returns a function that ends the listening */
	listen(listener: BoardListener): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	isPressed(name: ButtonName): boolean {
		return this.#pressed.has(name);
	}

	setButton(name: ButtonName, isPressed: boolean): void {
		if (isPressed) this.#pressed.add(name);
		else this.#pressed.delete(name);
		for (const listener of this.#listeners) listener.onButton?.(name, isPressed);
	}

	/** What the light sensor reads: 0 to 4095; undefined: its converter fails. */
	get light(): number | undefined {
		return this.#light;
	}

	set light(level: number | undefined) {
		this.#light = level;
		for (const listener of this.#listeners) listener.onLight?.(level);
	}

	/** What the touch pad counts. */
	get touchCount(): number {
		return this.#touchCount;
	}

	set touchCount(count: number) {
		this.#touchCount = count;
		for (const listener of this.#listeners) listener.onTouch?.(count);
	}

	set isTouched(isTouched: boolean) {
		this.touchCount = isTouched ? touchedCount : untouchedCount;
	}

	/** Undefined: none in reach. */
	get accessPoint(): AccessPoint | undefined {
		return this.#accessPoint;
	}

	set accessPoint(accessPoint: AccessPoint | undefined) {
		this.#accessPoint = accessPoint;
		for (const listener of this.#listeners) listener.onAccessPoint?.(accessPoint);
	}
}

/** Just powered: the chip's id, at its place in the data sheet. */
function es8311Registers(): Uint8Array {
	const registers = new Uint8Array(256);
	registers.set([0x83, 0x11], 0xfd);
	return registers;
}
