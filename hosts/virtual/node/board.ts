/** State of the simulated hardware: inputs that tests and people set, and outputs of the firmware. It survives a restart. */

import type { ButtonName } from "../../../device/host.js";
import { register, volumeRegister } from "../../esp32/es8311.js";
import type { InputName } from "../peripherals.js";

export interface AccessPoint {
	readonly ssid: string;
	/** In dBm. */
	readonly rssi: number;
	/** Absent: every password is accepted. */
	readonly password?: string;
	/** As a MAC address. */
	readonly bssid?: string;
	readonly channel?: number;
	/** No scan finds it. */
	readonly isHidden?: true;
}

/** What the speaker's output was given before it started: a chime is whole. */
export interface Sound {
	/** Signed, 16 bits, little-endian, mono. */
	readonly samples: Uint8Array;
	/** In hertz. */
	readonly sampleRate: number;
}

export interface BoardListener {
	onInput?(name: InputName, value: number | undefined): void;
	onAccessPoints?(): void;
	/** The firmware writes to the serial port, beside what it traces. */
	onSerialOutput?(bytes: Uint8Array): void;
	/** The output started; undefined: it stopped. */
	onSound?(sound: Sound | undefined): void;
	/** The output that runs was given more; as in Sound. */
	onQueued?(samples: Uint8Array): void;
	/** Samples have left the output, at most a block of 128 ms at a time; as in Sound. */
	onPlayed?(samples: Uint8Array): void;
	/** See `gain`. */
	onGain?(gain: number): void;
}

/** Counts of an ESP32-S3. */
const untouchedCount = 24_000;
const touchedCount = 31_000;

export class Board {
	readonly #listeners = new Set<BoardListener>();
	readonly #inputs = new Map<InputName, number | undefined>([
		["light", 1500],
		["touch", untouchedCount],
	]);
	#accessPoints: readonly AccessPoint[] = [{ ssid: "virtual", rssi: -48 }];
	#isSounding = false;
	readonly #serialInput: number[] = [];

	/** Red, green and blue of each pixel; empty before the first frame. */
	pixels = new Uint8Array(0);
	/** Frames shown since power-on. */
	frameCount = 0;
	/** PWM of the haptic motor, 0 to 1023. */
	hapticDuty = 0;
	/** The codec's registers, and whether it acknowledges. */
	readonly codec = { registers: es8311Registers(), isAnswering: true };
	/** What the output was given before it started, each time. */
	readonly sound: Uint8Array[] = [];
	/** For DHCP. */
	hostname = "";
	/** Undefined: the default. */
	timeServer: unknown;
	/** Of the time server: milliseconds since 1970; undefined: no answer. */
	wallClock: (() => number) | undefined = Date.now;

	/** @returns a function that removes the listener */
	listen(listener: BoardListener): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	get isSounding(): boolean {
		return this.#isSounding;
	}

	/** @param sound undefined: the output stops */
	play(sound: Sound | undefined): void {
		this.#isSounding = sound !== undefined;
		for (const listener of this.#listeners) listener.onSound?.(sound);
	}

	/** The output that runs was given more. */
	queue(samples: Uint8Array): void {
		for (const listener of this.#listeners) listener.onQueued?.(samples);
	}

	/** Samples have left the output. */
	played(samples: Uint8Array): void {
		for (const listener of this.#listeners) listener.onPlayed?.(samples);
	}

	/** A register of the codec was written. */
	tellGain(): void {
		for (const listener of this.#listeners) listener.onGain?.(this.gain);
	}

	/** Of the codec, as a factor: 1 is 0 dB, 0 is silence. */
	get gain(): number {
		const { [register.dacMute]: mute = 0, [register.dacVolume]: volume = 0 } = this.codec.registers;
		if (mute !== 0 || volume === 0) return 0;
		// Steps of 0.5 dB.
		return 10 ** ((volume - volumeRegister(100)) / 40);
	}

	/** As in ../peripherals.ts. */
	input(name: InputName): number | undefined {
		return this.#inputs.get(name);
	}

	setInput(name: InputName, value: number | undefined): void {
		this.#inputs.set(name, value);
		for (const listener of this.#listeners) listener.onInput?.(name, value);
	}

	/** The computer at the serial port sends. */
	sendSerial(bytes: Uint8Array): void {
		this.#serialInput.push(...bytes);
	}

	/** @returns what the firmware has not read of it, at most `limit` bytes; undefined: nothing */
	readSerial(limit: number): Uint8Array | undefined {
		return this.#serialInput.length > 0 ? Uint8Array.from(this.#serialInput.splice(0, limit)) : undefined;
	}

	/** The firmware writes to its serial port. */
	writeSerial(bytes: Uint8Array): void {
		for (const listener of this.#listeners) listener.onSerialOutput?.(Uint8Array.from(bytes));
	}

	isPressed(name: ButtonName): boolean {
		return this.input(name) === 1;
	}

	setButton(name: ButtonName, isPressed: boolean): void {
		this.setInput(name, isPressed ? 1 : 0);
	}

	/** Undefined: the converter fails. */
	get light(): number | undefined {
		return this.input("light");
	}

	set light(level: number | undefined) {
		this.setInput("light", level);
	}

	get touchCount(): number {
		return this.input("touch") ?? 0;
	}

	set touchCount(count: number) {
		this.setInput("touch", count);
	}

	get isTouched(): boolean {
		return this.touchCount === touchedCount;
	}

	set isTouched(isTouched: boolean) {
		this.touchCount = isTouched ? touchedCount : untouchedCount;
	}

	/** In range. */
	get accessPoints(): readonly AccessPoint[] {
		return this.#accessPoints;
	}

	set accessPoints(accessPoints: readonly AccessPoint[]) {
		this.#accessPoints = accessPoints;
		for (const listener of this.#listeners) listener.onAccessPoints?.();
	}

	/** Where there is one at most; undefined: none in range. */
	get accessPoint(): AccessPoint | undefined {
		return this.#accessPoints[0];
	}

	set accessPoint(accessPoint: AccessPoint | undefined) {
		this.accessPoints = accessPoint ? [accessPoint] : [];
	}
}

/** With the chip's id, as after power-on (data sheet). */
function es8311Registers(): Uint8Array {
	const registers = new Uint8Array(256);
	registers.set([0x83, 0x11], 0xfd);
	return registers;
}
