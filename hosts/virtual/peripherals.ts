/**
 * The simulated peripherals: what the firmware's half of each (modules/) and Node's half (node/simulated/) exchange on its channel.
 * Both halves follow from this table: the compiler refuses what it does not name.
 *
 * A channel has a kind, the name in the table, and `options` with which the firmware opens it. The firmware *posts* without
 * waiting, or *calls* and waits for what Node returns; Node sends *events*. What they take and return is JSON, in which undefined
 * becomes null; bytes follow it as a second argument, or are returned alone.
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
/** A channel with what is given, and no more. */
type Has<Given extends Partial<Peripheral>> = Given &
	Omit<{ options: Nothing; posts: Nothing; calls: Nothing; events: Nothing }, keyof Given>;

export interface Peripherals {
	/** Undefined: it cannot be measured. */
	input: Has<{
		options: { name: InputName };
		calls: { value(): number | undefined };
		events: { value(value: number | null): void };
	}>;
	haptics: Has<{ posts: { duty(duty: number): void } }>;
	/** Red, green and blue of each pixel. */
	pixels: Has<{ posts: { frame(detail: undefined, colors: Uint8Array): void } }>;
	/** Signed 16-bit samples, mono. */
	audio: Has<{
		/** In hertz. */
		options: { sampleRate: number };
		posts: {
			write(detail: undefined, samples: Uint8Array): void;
			start(): void;
			played(byteCount: number): void;
			stop(): void;
		};
	}>;
	/** The bus of the codec. */
	smbus: Has<{ calls: { read(register: number): number; write(change: RegisterChange): void } }>;

	/** The computer's end of the serial port. */
	serial: Has<{
		posts: { write(detail: undefined, bytes: Uint8Array): void };
		/** Undefined: nothing. */
		calls: { read(limit: number): Uint8Array | undefined };
	}>;
	system: Has<{ calls: { facts(): SystemFacts } }>;
	rtc: Has<{
		calls: {
			crash(): Crash | undefined;
			clear(): void;
			lineCount(): number;
			/** The newest lines. */
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
			/** An error is thrown by the next call. */
			write(detail: undefined, bytes: Uint8Array): void;
			complete(): void;
		};
		calls: { byteLength(): number; open(): void; read(part: Part): Uint8Array; close(): void };
		events: { completed(problem: string | null): void };
	}>;
	"running-image": Has<{ calls: { byteLength(): number; read(part: Part): Uint8Array } }>;
	"boot-state": Has<{
		calls: {
			isPendingVerify(): boolean;
			confirm(): void;
			/** Returns whether there is an image to go back to. */
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
	dns: Has<{ options: { host: string }; events: { resolved(address: string): void; error(): void } }>;
	time: Has<{
		options: { server: string | undefined };
		/** Seconds since 1970; null: no answer. */
		events: { time(seconds: number | null): void };
	}>;
	udp: Has<{
		posts: { write(to: { address: string; port: number }, bytes: Uint8Array): void };
		events: { datagram(detail: null, bytes: Uint8Array): void };
	}>;
	tcp: Has<{
		options: PeerOptions;
		posts: { write(detail: undefined, bytes: Uint8Array): void };
		calls: {
			/** Up to and including a line feed, at most `limit` bytes, one character for each. */
			readLine(limit: number): string;
			read(byteCount: number): Uint8Array;
		};
		events: {
			open(): void;
			/** So many more. */
			readable(byteCount: number): void;
			/** "error" follows. */
			untrusted(reason: string): void;
			error(): void;
		};
	}>;
	websocket: Has<{
		options: PeerOptions & { path: string; headers: (readonly [string, string])[] };
		posts: {
			write(frame: { binary?: boolean; more?: boolean; opcode?: number }, payload: Uint8Array): void;
		};
		events: {
			/** "open" follows. */
			date(date: string): void;
			open(): void;
			sent(byteCount: number): void;
			message(type: "binary" | "text", payload?: Uint8Array): void;
			control(opcode: number, payload?: Uint8Array): void;
			close(): void;
			/** "error" follows. */
			refused(answer: { status: number; retryAfterSeconds?: number }): void;
			/** "error" follows. */
			untrusted(reason: string): void;
			error(reason: string | null): void;
		};
	}>;
}

export type Kind = keyof Peripherals;

/** What a post, call or event of the table takes. */
export type Values<F> = F extends (...values: infer V) => unknown ? V : never;

/** Buttons are 1 while they are pressed; light is 12 bits, and touch a count. */
export type InputName = ButtonName | "light" | "touch";

export type SystemFacts = Pick<
	System,
	| "macAddress"
	| "idfVersion"
	| "firmwareVersion"
	| "securityVersion"
	| "buildTime"
	| "cpuFrequencyMHz"
	| "flashSizeMB"
	| "psramSizeMB"
	| "resetReason"
>;

/** Of a flash. */
export interface Part {
	offset: number;
	byteLength: number;
}

export interface RegisterChange {
	register: number;
	value: number;
}

/** With the SDK's names. */
export interface WantedNetwork {
	SSID: string;
	password?: string;
}

export interface JoinedNetwork extends FoundNetwork {
	readonly BSSID?: string;
	readonly channel?: number;
	readonly address: string;
}

export interface PeerOptions {
	/** IPv4. */
	address: string;
	port: number;
	/** The name that the certificate of the peer must be for. */
	host: string;
	/** Undefined: plain TCP. */
	secure?: Secure | undefined;
}

export interface Secure {
	/** As in TrustOptions of device/host.ts. */
	certificate?: string | undefined;
	/** The device's clock: milliseconds since 1970. */
	now: number;
}
