/**
 * What XS gives every module without an import, as far as the firmware uses it, and the C functions of the virtual
 * machine. (Moddable SDK, documentation/xs/XS Differences.md and xs/includes/xs.d.ts.)
 */

/** Writes text to the host's trace; no line end is added. A release build of a board drops it. */
declare function trace(...texts: unknown[]): void;

interface ArrayBufferConstructor {
	/** The text's UTF-8 bytes. */
	fromString(text: string): ArrayBuffer;
}

interface StringConstructor {
	/** Text from UTF-8 bytes. Throws if they are not UTF-8. */
	fromArrayBuffer(bytes: ArrayBuffer, byteOffset?: number, byteLength?: number): string;
}

/** hosts/virtual/machine: functions in C. Only the modules beside this file import them. */
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
	export function uptime(): number;
	export function setWallClock(seconds: number): void;
	export function heap(): number;
	export function exit(reason: "quit" | "restart"): never;
}
