/**
 * What the firmware asks of the host below it: a board, the simulator or a virtual device. A host supplies one object, the
 * global `device`, of classes in the manner of ECMA-419: the firmware makes `new device.peripheral.button.play({ onReadable })`
 * and knows neither pin nor port, so that a host can be swapped without a line of firmware changing.
 */

import type { Chip } from "./protocol/messages.js";
import type { Model } from "./protocol/schema.js";

/** A class of the host's, which knows by itself which pins and ports it uses. */
export type Part<Options, Instance> = new (options: Options) => Instance;

/** ECMA-419 `embedded:io/digital`, an input. */
export interface DigitalInput {
	/** 1 while the signal is active, else 0. */
	read(): number;
	close(): void;
}
export type ButtonPart = Part<{ onReadable: () => void }, DigitalInput>;
export const buttonNames = Object.freeze(["play", "mute", "volumeUp", "volumeDown"] as const);
export type ButtonName = (typeof buttonNames)[number];

/** Moddable's `neopixel`: a strip of RGB pixels with a frame buffer of its own. */
export interface PixelStrip {
	readonly length: number;
	/** Each 0 to 255, as the pixel is to be driven; the colour in the strip's own order. */
	makeRGB(red: number, green: number, blue: number): number;
	setPixel(index: number, colour: number): void;
	/** Shows the frame buffer. */
	update(): void;
	close(): void;
}

/** ECMA-419 `embedded:io/pwm`. */
export interface PulseWidth {
	/** Bits; the highest value of write is 2 ** resolution - 1. */
	readonly resolution: number;
	write(value: number): void;
	close(): void;
}

/** ECMA-419 `embedded:io/analog`. */
export interface AnalogInput {
	/** Bits; the highest value of read is 2 ** resolution - 1. */
	readonly resolution: number;
	/** Undefined where the converter fails, as with the SDK's driver for ESP32. */
	read(): number | undefined;
	close(): void;
}

/** A capacitive pad. */
export interface TouchPad {
	/** The raw charge count, which a finger raises on every chip; 0 where nothing was measured. */
	read(): number;
	close(): void;
}

/**
 * Moddable's `embedded:io/audio/out`: one stream of signed 16-bit samples. On ESP32 (modules/io/audioout/esp32) it plays
 * whole blocks of 4,092 bytes and takes five of them before `start`; see audio.ts for what follows from that.
 */
export interface AudioOutput {
	start(): void;
	/** Drops what is queued. */
	stop(): void;
	/** Queues samples; throws where they do not fit. */
	write(samples: Uint8Array): void;
	close(): void;
}
export interface AudioOutputOptions {
	/** In hertz. */
	sampleRate: number;
	channels: 1;
	bitsPerSample: 16;
}

/** The audio codec's control side. */
export interface Codec {
	/** Whether the codec answered when it was last spoken to. */
	readonly isReady: boolean;
	/** Output gain, 0 (mute) to 100, on a curve that sounds even. */
	volume: number;
	/** Muting and unmuting ramp softly, within 40 ms. */
	isMuted: boolean;
	/** Speaks to the codec: `isReady` then says whether it answers now. */
	check(): void;
	close(): void;
}

/** Why an access point was not joined. */
export type WiFiReason = "wrong_password" | "no_access_point";

/** ECMA-419 `embedded:network/interface/wifi` (Moddable SDK), which lacks `reason`. */
export interface WiFi {
	/** 200 down, 300 connecting, 400 associated, 500 usable. */
	readonly connection: number;
	readonly address: string | undefined;
	readonly SSID: string | undefined;
	/** In dBm. */
	readonly RSSI: number | undefined;
	/** Why the last attempt failed; undefined where that is not known, and while one is under way. */
	readonly reason?: WiFiReason | undefined;
	/** What a DHCP server is told at the next connection: at most 32 letters, digits and hyphens (RFC 1123). */
	configure(options: { hostname: string }): void;
	/** Throws where an attempt is under way already. */
	connect(options: { SSID: string; password?: string }): void;
	disconnect(): void;
	close(): void;
}
export type WiFiPart = Part<{ onChanged: (property: string) => void }, WiFi>;

/** ECMA-419 DNS resolver. */
export interface Resolver {
	resolve(options: ResolveOptions): void;
	close?(): void;
}
export interface ResolveOptions {
	host: string;
	onResolved: (host: string, address: string) => void;
	onError: () => void;
}
export type ResolverPart = Part<object, Resolver>;
/** How the SDK's clients take a resolver: they make `new dns.io(dns)`. */
export interface ResolverOption {
	readonly io: ResolverPart;
}

/** ECMA-419 `embedded:network/websocket/client` (Moddable SDK). */
export interface WebSocketClient {
	/** Throws where the payload and its header do not fit what onWritable last offered. Returns what then fits. */
	write(
		payload: ArrayBuffer | Uint8Array,
		options: { binary?: boolean; more?: boolean; opcode?: number },
	): number;
	read(byteCount: number): ArrayBuffer;
	close(): void;
}
export interface WebSocketClientOptions {
	host: string;
	port: number;
	path: string;
	headers: Iterable<readonly [string, string]>;
	dns: ResolverOption;
	onReadable: (byteCount: number, options: { more: boolean; binary: boolean }) => void;
	/** The first call says that the connection is open. */
	onWritable: (byteCount: number) => void;
	onControl: (opcode: number, payload: ArrayBuffer) => void;
	/**
	 * The server answered the upgrade with another status than 101; onError follows.
	 *
	 * @param retryAfterSeconds its Retry-After (RFC 9110, section 10.2.3), where that is a number of seconds
	 */
	onRefused?: ((status: number, retryAfterSeconds: number | undefined) => void) | undefined;
	onClose: () => void;
	onError: () => void;
}
export type WebSocketPart = Part<WebSocketClientOptions, WebSocketClient>;
/** Over TLS; a session is never resumed, since the SDK's cache forgets by which authority it was checked. */
export type SecureWebSocketPart = Part<WebSocketClientOptions & TrustOptions, WebSocketClient>;

/** Whom a connection over TLS trusts. */
export interface TrustOptions {
	/**
	 * The certificate authority's certificate: its DER in base64. Undefined: what the host trusts by itself; on boards that
	 * is nothing, and every server is refused.
	 */
	certificate: string | undefined;
}

/**
 * ECMA-419 `embedded:network/http/client` (Moddable SDK): requests are answered one after the other on one connection. What
 * the SDK's does holds for every host: no time-outs; an Error without a word for whatever went wrong, a refused certificate
 * too; requests that are made from within onDone are lost.
 */
export interface HttpClient {
	request(options: HttpRequestOptions): HttpRequest;
	close(): void;
}
export interface HttpRequest {
	/** Fills `buffer`, which must not be longer than what onReadable offers. What is not read keeps the sender waiting. */
	read(buffer: Uint8Array): unknown;
}
export interface HttpRequestOptions {
	path: string;
	headers: Map<string, string>;
	/** Names are in lower case. */
	onHeaders: (status: number, headers: ReadonlyMap<string, string>) => void;
	onReadable: (byteCount: number) => void;
	/** Null: the whole answer came. */
	onDone: (error: Error | null) => void;
}
export interface HttpClientOptions {
	host: string;
	port: number;
	dns: ResolverOption;
	onError: () => void;
}
export type HttpPart = Part<HttpClientOptions, HttpClient>;
/** Over TLS; a session is never resumed, since the SDK's cache forgets by which authority it was checked. */
export type HttpsPart = Part<HttpClientOptions & TrustOptions, HttpClient>;

/** Moddable's `crypt` Digest for one algorithm. */
export interface Digest {
	write(bytes: Uint8Array): void;
	/** The digest of all that was written; the object is used up. */
	close(): ArrayBuffer;
}

/**
 * The app slot that does not run: Moddable's `embedded:update` in mode "a", and `embedded:storage/flash` to read it back.
 * A slot takes bytes from its beginning on, each once, and erases ahead of them by itself.
 */
export interface UpdateSlot {
	/** What fits, in bytes. */
	readonly byteLength: number;
	/** Begins anew; what the slot held cannot be started any more. @throws Error, also while the running image is unconfirmed */
	open(): void;
	/** Appends, and returns when it is in flash. @throws Error where it is not */
	write(bytes: Uint8Array): void;
	/** Fills `buffer` with what is in flash from `offset` on. */
	read(buffer: Uint8Array, offset: number): void;
	/** Has the whole image checked and chooses it for the next start. @throws Error where it is not chosen */
	complete(): void;
	/** Without complete: the slot is not chosen. */
	close(): void;
}

/** The boot loader's probation of a new image: ESP-IDF's roll-back. */
export interface BootState {
	/** Whether the running image was started for the first time and is not confirmed. */
	readonly isPendingVerify: boolean;
	/** The running image stays. @returns whether that is written */
	confirm(): boolean;
	/** Restarts with the former image. Returns only where there is none. */
	rollBack(): void;
}

/** One question to a time server. */
export interface TimeQuery {
	close(): void;
}
export interface TimeQueryOptions {
	/** The time server's name or IPv4 address; undefined: the host's default, pool.ntp.org on boards. */
	server: string | undefined;
	/** Seconds since 1970; undefined: no answer. */
	onTime: (seconds: number | undefined) => void;
}
export type TimePart = Part<TimeQueryOptions, TimeQuery>;

/** ECMA-419 `embedded:storage/key-value`, opened for strings. Keys have at most 15 characters (ESP-IDF NVS). */
export interface KeyValueStore {
	read(key: string): string | undefined;
	write(key: string, value: string): void;
	delete(key: string): void;
	close(): void;
}

/** What a chip knows of itself. */
export interface System {
	/** Six bytes in hex, joined by colons. */
	readonly macAddress: string;
	/** The version of the framework below: ESP-IDF's on a board. */
	readonly idfVersion: string;
	readonly firmwareVersion: string;
	/** When the running image was built: seconds since 1970; 0: not known. */
	readonly buildTime: number;
	readonly cpuFrequencyMHz: number;
	readonly flashSizeMB: number;
	readonly psramSizeMB: number;
	/** E.g. `POWERON_RESET`, `SW_RESET`. */
	readonly resetReason: string;
	/** Milliseconds since boot; does not wrap. */
	readonly uptimeMs: number;
	readonly freeHeapBytes: number;
	readonly minFreeHeapBytes: number;
	restart(): void;
	/** Writes to the console, in a release build as well, where trace() is compiled out. */
	print(text: string): void;
	/** Sets the wall clock, in seconds since 1970. */
	setTime(seconds: number): void;
}

/** The global `device` of every host of ours. */
export interface Host {
	readonly model: Model;
	readonly chip: Chip;
	readonly system: Part<object, System>;
	readonly network: {
		readonly wifi: WiFiPart;
		readonly dns: ResolverPart;
		readonly ws: WebSocketPart;
		readonly wss: SecureWebSocketPart;
		readonly http: HttpPart;
		readonly https: HttpsPart;
		readonly time: TimePart;
	};
	readonly update: {
		/** The slot for the next image. Making one touches nothing. */
		readonly slot: Part<object, UpdateSlot>;
		readonly boot: Part<object, BootState>;
	};
	readonly digest: { readonly sha256: Part<object, Digest> };
	readonly storage: { readonly settings: Part<object, KeyValueStore> };
	readonly peripheral: {
		readonly button: Readonly<Record<ButtonName, ButtonPart>>;
		readonly ledRing: Part<object, PixelStrip>;
		readonly audioOutput: Part<AudioOutputOptions, AudioOutput>;
		readonly codec: Part<object, Codec>;
		readonly haptics?: Part<object, PulseWidth>;
		readonly ambientLight?: Part<object, AnalogInput>;
		readonly touch?: Part<object, TouchPad>;
	};
}
