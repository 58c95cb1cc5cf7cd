/** State of the simulated hardware: inputs set by tests or users, and outputs of the firmware. Survives a restart. */

import type { ButtonName } from "../../../device/host.js";
import { register, volumeRegister } from "../../esp32/es8311.js";
import type { InputName } from "../peripherals.js";

export interface AccessPoint {
	readonly ssid: string;
	/** Signal strength in dBm. */
	readonly rssi: number;
	/** Absent to accept any password. */
	readonly password?: string;
	/** MAC address. */
	readonly bssid?: string;
	readonly channel?: number;
	/** Not found by scans. */
	readonly isHidden?: true;
}

/** Samples written to the speaker before it started; contains a complete chime. */
export interface Sound {
	/** Signed 16-bit little-endian mono. */
	readonly samples: Uint8Array;
	/** Sample rate in hertz. */
	readonly sampleRate: number;
}

export interface BoardListener {
	onInput?(name: InputName, value: number | undefined): void;
	onAccessPoints?(): void;
	/** The computer sent bytes to the serial port. */
	onSerialInput?(): void;
	/** The firmware wrote to the serial port, apart from trace output. */
	onSerialOutput?(bytes: Uint8Array): void;
	/** The output started, or stopped if `sound` is undefined. */
	onSound?(sound: Sound | undefined): void;
	/** More samples were written to the running output, in the format of Sound. */
	onQueued?(samples: Uint8Array): void;
	/** Samples were played, at most a block of 128 ms at a time, in the format of Sound. */
	onPlayed?(samples: Uint8Array): void;
	/** The LED ring shows another frame; see `pixels`. */
	onFrame?(): void;
	/** The gain may have changed; see `gain`. */
	onGain?(gain: number): void;
}

/** Typical counts of an ESP32-S3. */
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
	/** Registers of the codec, and whether it acknowledges. */
	readonly codec = { registers: es8311Registers(), isAnswering: true };
	/** Samples written before each start of the output. */
	readonly sound: Uint8Array[] = [];
	/** Host name for DHCP. */
	hostname = "";
	/** Time server; undefined for the default. */
	timeServer: unknown;
	/** Clock of the time server in milliseconds since 1970; undefined if it does not answer. */
	wallClock: (() => number) | undefined = Date.now;

	/** @returns a function that removes the listener */
	listen(listener: BoardListener): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	get isSounding(): boolean {
		return this.#isSounding;
	}

	/** @param sound undefined to stop the output */
	play(sound: Sound | undefined): void {
		this.#isSounding = sound !== undefined;
		for (const listener of this.#listeners) listener.onSound?.(sound);
	}

	/** Adds samples to the running output. */
	queue(samples: Uint8Array): void {
		for (const listener of this.#listeners) listener.onQueued?.(samples);
	}

	/** Reports samples as played. */
	played(samples: Uint8Array): void {
		for (const listener of this.#listeners) listener.onPlayed?.(samples);
	}

	/** Shows a frame. @param pixels red, green and blue of each */
	show(pixels: Uint8Array<ArrayBuffer>): void {
		this.pixels = pixels;
		this.frameCount += 1;
		for (const listener of this.#listeners) listener.onFrame?.();
	}

	/** Reports the gain after a change of the codec's registers. */
	notifyGain(): void {
		for (const listener of this.#listeners) listener.onGain?.(this.gain);
	}

	/** Gain of the codec as a factor: 1 is 0 dB, 0 is silence. */
	get gain(): number {
		const { [register.dacMute]: mute = 0, [register.dacVolume]: volume = 0 } = this.codec.registers;
		if (mute !== 0 || volume === 0) return 0;
		// Steps of 0.5 dB.
		return 10 ** ((volume - volumeRegister(100)) / 40);
	}

	/** Value of an input; see ../peripherals.ts. */
	input(name: InputName): number | undefined {
		return this.#inputs.get(name);
	}

	setInput(name: InputName, value: number | undefined): void {
		this.#inputs.set(name, value);
		for (const listener of this.#listeners) listener.onInput?.(name, value);
	}

	/** Sends bytes from the computer to the serial port. */
	sendSerial(bytes: Uint8Array): void {
		this.#serialInput.push(...bytes);
		for (const listener of this.#listeners) listener.onSerialInput?.();
	}

	/** @returns at most `limit` unread bytes; undefined if there are none */
	readSerial(limit: number): Uint8Array | undefined {
		return this.#serialInput.length > 0 ? Uint8Array.from(this.#serialInput.splice(0, limit)) : undefined;
	}

	/** Reports bytes that the firmware wrote to the serial port. */
	writeSerial(bytes: Uint8Array): void {
		for (const listener of this.#listeners) listener.onSerialOutput?.(Uint8Array.from(bytes));
	}

	isPressed(name: ButtonName): boolean {
		return this.input(name) === 1;
	}

	setButton(name: ButtonName, isPressed: boolean): void {
		this.setInput(name, isPressed ? 1 : 0);
	}

	/** Undefined if the converter fails. */
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

	/** Access points in range. */
	get accessPoints(): readonly AccessPoint[] {
		return this.#accessPoints;
	}

	set accessPoints(accessPoints: readonly AccessPoint[]) {
		this.#accessPoints = accessPoints;
		for (const listener of this.#listeners) listener.onAccessPoints?.();
	}
}

/** Registers after power-on, with the chip id of the data sheet. */
function es8311Registers(): Uint8Array {
	const registers = new Uint8Array(256);
	registers.set([0x83, 0x11], 0xfd);
	return registers;
}
