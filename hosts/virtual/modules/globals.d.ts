/**
 * Globals of XS used by the firmware, and globals of the virtual machine. Source: Moddable SDK, documentation/xs/XS Differences.md
 * and xs/includes/xs.d.ts.
 */

/** Prints text without adding a line end. */
declare function trace(...texts: unknown[]): void;

interface ArrayBufferConstructor {
	/** Encodes text as UTF-8. */
	fromString(text: string): ArrayBuffer;
}

interface StringConstructor {
	/** Decodes UTF-8. @throws if the bytes are not valid UTF-8 */
	fromArrayBuffer(bytes: ArrayBuffer, byteOffset?: number, byteLength?: number): string;
}

/** Moddable's `mc/config`, with string values like `mcconfig key=value`. Contains the model and the release keys. */
declare module "mc/config" {
	const config: Readonly<Record<string, string>>;
	export default config;
}

type TimerHandle = import("timer").default;

/** Native functions (hosts/virtual/machine). */
declare const natives: {
	/** JSON of mc/config. */
	readonly config: string;
	open(header: string, onFrame: (header: string, payload: ArrayBuffer | undefined) => void): number;
	/** @param payload an ArrayBuffer or a typed array */
	post(channel: number, header: string, payload: unknown): void;
	/** @returns the result of onAnswer */
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
	/** Milliseconds since the start with fraction; does not wrap around. */
	now(): number;
	setWallClock(seconds: number): void;
	/** Free bytes of the heap, with the slot size of a board (16 bytes). */
	heap(): number;
	/** Ends the process, to power the device off or to restart it. */
	exit(reason: "quit" | "restart"): never;
};
