/**
 * Protocol of the simulated peripherals, between the firmware's half (modules/) and Node's half (node/simulated/). This table types both
 * halves.
 *
 * A channel has a kind (a key of the table) and `options` from the firmware. The firmware *posts* without waiting, or *calls* and waits for
 * the result; Node sends *events*. Arguments and results are JSON, in which undefined becomes null. Bytes are passed as a second
 * argument, or returned as the only result.
 */

import type { ButtonName, FoundNetwork, System, WiFiReason } from "../../device/host.js";
import type { Crash } from "../../device/protocol/messages.js";

export interface Peripheral {
	options: object;
	posts: object;
	calls: object;
	events: object;
}

type Nothing = Record<never, never>;
/** Completes a partial declaration with empty members. */
type Has<Given extends Partial<Peripheral>> = Given &
	Omit<{ options: Nothing; posts: Nothing; calls: Nothing; events: Nothing }, keyof Given>;

export interface Peripherals {
	/** Input; the value is undefined if it cannot be measured. */
	input: Has<{
		options: { name: InputName };
		calls: { value(): number | undefined };
		events: { value(value: number | null): void };
	}>;
	haptics: Has<{ posts: { duty(duty: number): void } }>;
	/** LED ring: red, green and blue of each pixel. */
	pixels: Has<{ posts: { frame(detail: undefined, colors: Uint8Array): void } }>;
	/** Speaker: signed 16-bit mono. */
	audio: Has<{
		/** Sample rate in hertz. */
		options: { sampleRate: number };
		posts: {
			write(detail: undefined, samples: Uint8Array): void;
			start(): void;
			played(byteCount: number): void;
			stop(): void;
		};
	}>;
	/** Control bus of the codec. */
	smbus: Has<{ calls: { read(register: number): number; write(change: RegisterChange): void } }>;

	/** Serial port to the computer. */
	serial: Has<{
		posts: { write(detail: undefined, bytes: Uint8Array): void };
		/** Returns undefined if nothing was received. */
		calls: { read(limit: number): Uint8Array | undefined };
		events: { received(): void };
	}>;
	system: Has<{ calls: { facts(): SystemFacts } }>;
	rtc: Has<{
		calls: {
			crash(): Crash | undefined;
			clear(): void;
			lineCount(): number;
			/** Returns the newest lines. */
			read(count: number): string;
		};
	}>;
	"key-value": Has<{
		calls: {
			read(key: string): string | undefined;
			write(setting: { key: string; value: string }): void;
			delete(key: string): void;
		};
	}>;
	resource: Has<{ options: { path: string }; calls: { byteLength(): number; read(part: Part): Uint8Array } }>;
	"update-slot": Has<{
		posts: {
			/** Errors are thrown by the next call. */
			write(detail: undefined, bytes: Uint8Array): void;
			complete(): void;
		};
		calls: { byteLength(): number; open(): void; close(): void };
		events: { completed(problem: string | null): void };
	}>;
	"running-image": Has<{ calls: { byteLength(): number; read(part: Part): Uint8Array } }>;
	"boot-state": Has<{
		calls: {
			isPendingVerify(): boolean;
			confirm(): void;
			/** Returns whether there is an image to roll back to. */
			rollBack(): boolean;
		};
	}>;
	sha256: Has<{
		posts: { write(detail: undefined, bytes: Uint8Array): void };
		calls: { digest(): Uint8Array };
	}>;

	wifi: Has<{
		posts: {
			configure(options: { hostname: string }): void;
			connect(network: WantedNetwork): void;
			scan(): void;
			disconnect(): void;
		};
		events: { connection(joined: JoinedNetwork | WiFiReason): void; scanned(found: FoundNetwork[]): void };
	}>;
	/** The address is null if the name is not found. */
	dns: Has<{ options: { host: string }; events: { resolved(address: string | null): void } }>;
	time: Has<{
		options: { server: string | undefined };
		/** Seconds since 1970; null without an answer. */
		events: { time(seconds: number | null): void };
	}>;
	udp: Has<{
		posts: { write(to: { address: string; port: number }, bytes: Uint8Array): void };
		events: { datagram(detail: null, bytes: Uint8Array): void };
	}>;
	tcp: Has<{
		options: {
			/** IPv4 address. */
			address: string;
			port: number;
			/** Server name that the peer's certificate must match. */
			host: string;
			/** Undefined for plain TCP. */
			secure?: Secure | undefined;
		};
		posts: { write(detail: undefined, bytes: Uint8Array): void };
		calls: { read(byteCount: number): Uint8Array };
		events: {
			open(): void;
			/** More bytes are readable. */
			readable(byteCount: number): void;
			/** Written bytes were passed to the network. */
			sent(byteCount: number): void;
			/** Followed by "error". */
			untrusted(reason: string): void;
			/** Null: the peer has closed the connection. */
			error(reason: string | null): void;
		};
	}>;
}

export type Kind = keyof Peripherals;

/** Parameters of a post, call or event. */
export type Values<F> = F extends (...values: infer V) => unknown ? V : never;

/** Inputs: buttons are 1 while pressed, light is a 12-bit value, touch is a count. */
export type InputName = ButtonName | "light" | "touch";

export type SystemFacts = Omit<
	System,
	"uptimeMs" | "freeHeapBytes" | "minFreeHeapBytes" | "restart" | "print" | "setTime"
>;

/** Range of bytes. */
export interface Part {
	offset: number;
	byteLength: number;
}

export interface RegisterChange {
	register: number;
	value: number;
}

/** Network to join, with the SDK's property names. */
export interface WantedNetwork {
	SSID: string;
	password?: string;
}

export interface JoinedNetwork extends FoundNetwork {
	readonly BSSID?: string;
	readonly channel?: number;
	readonly address: string;
}

export interface Secure {
	/** See SocketOptions in device/host.ts. */
	certificate?: string | undefined;
	/** Clock of the device in milliseconds since 1970. */
	now: number;
}
