/**
 * Globals of XS that the firmware uses, and what the virtual machine itself supplies. (Moddable SDK,
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

type TimerHandle = import("timer").default;

/** Functions in C (hosts/virtual/machine). */
declare const natives: {
	/** JSON of mc/config. */
	readonly config: string;
	open(header: string, onFrame: (header: string, payload: ArrayBuffer | undefined) => void): number;
	/** @param payload an ArrayBuffer or a typed array */
	post(channel: number, header: string, payload: unknown): void;
	/** @returns what onAnswer returns */
	call<T>(
		channel: number,
		header: string,
		payload: unknown,
		onAnswer: (header: string, payload: ArrayBuffer | undefined) => T,
	): T;
	close(channel: number): void;
	setTimer(callback: (timer: TimerHandle) => void, interval: number, repeat: number): TimerHandle;
	scheduleTimer(timer: TimerHandle, interval?: number, repeat?: number): void;
	clearTimer(timer: TimerHandle | null | undefined): void;
	delay(milliseconds: number): void;
	/** Milliseconds since the device started, with their fraction; does not wrap. */
	now(): number;
	setWallClock(seconds: number): void;
	/** Free bytes of the device's heap, as a board counts them: a slot is 16 bytes. */
	heap(): number;
	/** Ends the process: the device is switched off, or started again. */
	exit(reason: "quit" | "restart"): never;
};
