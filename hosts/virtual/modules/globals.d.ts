/**
 * Globals of XS that the firmware uses, and the modules that the virtual machine itself supplies. (Moddable SDK,
 * documentation/xs/XS Differences.md and xs/includes/xs.d.ts.)
 */

/** Prints text without adding a line end. */
declare function trace(...texts: unknown[]): void;

interface ArrayBufferConstructor {
	/** The text's UTF-8 bytes. */
	fromString(text: string): ArrayBuffer;
}

interface StringConstructor {
	/** Text from UTF-8 bytes. Throws if they are not UTF-8. */
	fromArrayBuffer(bytes: ArrayBuffer, byteOffset?: number, byteLength?: number): string;
}

/** Moddable's `mc/config`: values are strings, as `mcconfig key=value` makes them. Here it holds the model and the release keys. */
declare module "mc/config" {
	const config: Readonly<Record<string, string>>;
	export default config;
}

/** Functions in C (hosts/virtual/machine). */
declare module "virtual/natives" {
	import type Timer from "timer";

	type Bytes = ArrayBuffer | undefined;

	export function open(header: string, onFrame: (header: string, payload: Bytes) => void): number;
	export function post(channel: number, header: string, buffer: Bytes, offset: number, length: number): void;
	export function call(
		channel: number,
		header: string,
		buffer: Bytes,
		offset: number,
		length: number,
	): { text?: string; failure?: string; payload?: ArrayBuffer };
	export function close(channel: number): void;
	export function copyBytes(
		target: ArrayBuffer,
		targetOffset: number,
		source: ArrayBuffer,
		sourceOffset: number,
		length: number,
	): void;
	export function latin1(buffer: ArrayBuffer, offset: number, length: number): string;
	export function setTimer(callback: (timer: Timer) => void, interval: number, repeat: number): Timer;
	export function scheduleTimer(timer: Timer, interval?: number, repeat?: number): void;
	export function clearTimer(timer: Timer | null | undefined): void;
	export function delay(milliseconds: number): void;
	export function ticks(): number;
	export function microseconds(): number;
	/** Milliseconds since the device started; does not wrap. */
	export function uptime(): number;
	export function setWallClock(seconds: number): void;
	/** Free bytes of the device's heap, as a board counts them: a slot is 16 bytes. */
	export function heap(): number;
	/** Ends the process: the device is switched off, or started again. */
	export function exit(reason: "quit" | "restart"): never;
}
