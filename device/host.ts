/**
 * Interface between the firmware and its host. The host supplies the global `device`: classes in the style of ECMA-419
 * that know their pins and ports, so that `new device.peripheral.button.play({ onReadable })` works on every host.
 */

import type { Chip } from "./protocol/messages.js";
import type { Model } from "./protocol/schema.js";

export type Part<Options, Instance> = new (options: Options) => Instance;

/** ECMA-419 `embedded:io/digital`, an input. */
export interface DigitalInput {
	/** 1 while active, else 0. */
	read(): number;
	close(): void;
}
export type ButtonPart = Part<{ onReadable: () => void }, DigitalInput>;
export const buttonNames = Object.freeze(["play", "mute", "volumeUp", "volumeDown"] as const);
export type ButtonName = (typeof buttonNames)[number];

/** RGB pixels with a frame buffer. */
export interface PixelStrip {
	readonly length: number;
	/** Each 0 to 255, linear. */
	makeRGB(red: number, green: number, blue: number): number;
	setPixel(index: number, color: number): void;
	update(): void;
}

/** ECMA-419 `embedded:io/pwm`. */
export interface PulseWidth {
	/** In bits: `write` takes 0 to 2 ** resolution - 1. */
	readonly resolution: number;
	write(value: number): void;
	close(): void;
}

/** ECMA-419 `embedded:io/analog`. */
export interface AnalogInput {
	/** In bits: `read` returns 0 to 2 ** resolution - 1. */
	readonly resolution: number;
	/** Undefined if the conversion failed. */
	read(): number | undefined;
	close(): void;
}

export interface TouchPad {
	/** Relative rise of the count that a finger causes, e.g. 0.1. */
	readonly threshold: number;
	/** Raw charge count, raised by a finger; 0: no measurement. */
	read(): number;
	close(): void;
}

/**
 * Moddable's `embedded:io/audio/out`: one stream of signed 16-bit samples. The ESP32's implementation plays whole
 * blocks of 4,092 bytes. It has six blocks, of which five are filled before `start`.
 */
export interface AudioOutput {
	/** Delay from the start until samples are audible, in milliseconds, at most 400; absent: 0. */
	readonly leadInMs?: number;
	start(): void;
	/** Drops queued samples. */
	stop(): void;
	/** @throws Error if the queue is full */
	write(samples: Uint8Array): void;
	close(): void;
}
export interface AudioOutputOptions {
	/** Hz */
	sampleRate: number;
	channels: 1;
	bitsPerSample: 16;
	/** Called after `start` when a block was played and another fits. Never called within a method. */
	onWritable: () => void;
}

export interface Codec {
	/** Whether the codec last answered. */
	readonly isReady: boolean;
	/** Perceived gain, 0 (mute) to 100. */
	volume: number;
	/** Changes are ramped within 40 ms. */
	isMuted: boolean;
	/** Accesses the codec and updates `isReady`. A codec that does not answer is accessed by this method only. */
	check(): void;
	close(): void;
}

export type WiFiReason = "wrong_password" | "no_access_point" | "signal_lost" | "ended_by_access_point";

/** Result of a scan, one for each access point. */
export interface FoundNetwork {
	readonly SSID: string;
	/** dBm */
	readonly RSSI: number;
	/** `none` for an open network. */
	readonly security?: string;
}
export interface ScanOptions {
	onFound: (network: FoundNetwork) => void;
	onComplete: () => void;
}

/** ECMA-419 `embedded:network/interface/wifi`, with a `reason`. */
export interface WiFi {
	/** 200 down, 300 connecting, 400 associated, 500 usable. */
	readonly connection: number;
	readonly address: string | undefined;
	readonly SSID: string | undefined;
	/** MAC address of the access point, formatted like System.macAddress. */
	readonly BSSID?: string | undefined;
	/** dBm */
	readonly RSSI: number | undefined;
	readonly channel?: number | undefined;
	/** Reason of the last failure or loss; undefined if unknown. */
	readonly reason?: WiFiReason | undefined;
	/** @param options.hostname at most 32 letters, digits and hyphens (RFC 1123) */
	configure(options: { hostname: string }): void;
	/** @throws Error during an attempt */
	connect(options: { SSID: string; password?: string }): void;
	/** Scans for access points for a few seconds; not while connected. @throws Error during an attempt or a scan */
	scan?(options: ScanOptions): void;
	disconnect(): void;
	close(): void;
}
export type WiFiPart = Part<{ onChanged: (property: string) => void }, WiFi>;

/**
 * Resolves a name to an IPv4 address.
 * @param onResolved called once, in a later turn; undefined: not found
 */
export type Resolve = (host: string, onResolved: (address: string | undefined) => void) => void;

/** ECMA-419 `embedded:io/socket/udp`: IPv4, on an ephemeral port. */
export interface DatagramSocket {
	/** Returns the next datagram. */
	read(): ArrayBuffer | undefined;
	/** @throws Error */
	write(bytes: Uint8Array, address: string, port: number): void;
	close(): void;
}
export interface DatagramOptions {
	/** Not called within a method. @param count of datagrams that can be read */
	onReadable: (count: number) => void;
}

/** ECMA-419 `embedded:io/socket/tcp`, possibly over TLS. Opens a connection when it is constructed. */
export interface Socket {
	/** Fills the buffer with received bytes. @param buffer at most as long as onReadable announced */
	read(buffer: Uint8Array): unknown;
	/** @returns how many bytes can be written next @throws Error if more are written than can be */
	write(bytes: Uint8Array): number;
	close(): void;
}
export interface SocketOptions {
	/** IPv4 */
	address: string;
	port: number;
	/** Name of the server, which its certificate must match. */
	host: string;
	/** Certificate authority for TLS, as DER in base64. Undefined: the host's default; boards then reject every server. */
	certificate: string | undefined;
	/** Bytes have arrived. @param byteCount of all unread ones */
	onReadable: (byteCount: number) => void;
	/** More can be written than before; called for the first time when the connection opens. */
	onWritable: (byteCount: number) => void;
	/** The TLS handshake failed; onError follows. @param reason what to change */
	onUntrusted: (reason: string) => void;
	/** The connection failed, or was closed by the peer, whose bytes have all been read. May be called again. */
	onError: () => void;
}
export type SocketPart = Part<SocketOptions, Socket>;

/** Moddable's `crypt` Digest. */
export interface Digest {
	write(bytes: Uint8Array): void;
	/** Returns the digest. Must be called once, last. */
	close(): ArrayBuffer;
}

/** The inactive app slot. Written once, in order. */
export interface UpdateSlot {
	readonly byteLength: number;
	/** Invalidates the image in the slot. @throws Error, e.g. while the running image is unconfirmed */
	open(): void;
	/** @throws Error */
	write(bytes: Uint8Array): void;
	/**
	 * Verifies the image in flash by its checksum and its appended SHA-256, if it has one, and selects it for the next boot.
	 * Takes several turns, a second or more in total.
	 * @param onEnd called in a new turn with the problem, if any @throws Error
	 */
	complete(onEnd: (problem: string | undefined) => void): void;
	/** Aborts if called before complete(): the slot is not selected. */
	close(): void;
}

/** Partition of the running image, the source of a patch. */
export interface RunningImage {
	/** Size of the partition; 0 if the firmware does not run from an image. */
	readonly byteLength: number;
	/** @throws Error */
	read(buffer: Uint8Array, offset: number): void;
	close(): void;
}

/** Rollback state of the running image, as in ESP-IDF. */
export interface BootState {
	/** ESP_OTA_IMG_PENDING_VERIFY: unconfirmed. */
	readonly isPendingVerify: boolean;
	/** esp_ota_mark_app_valid_cancel_rollback. @returns whether the state was written */
	confirm(): boolean;
	/** esp_ota_mark_app_invalid_rollback_and_reboot. Returns only if there is no previous image. */
	rollBack(): void;
}

export interface TimeQuery {
	close(): void;
}
export interface TimeQueryOptions {
	/** Name or IPv4 address; undefined: the host's default. */
	server: string | undefined;
	/** @param seconds since 1970; undefined: no answer */
	onTime: (seconds: number | undefined) => void;
}
export type TimePart = Part<TimeQueryOptions, TimeQuery>;

/** ECMA-419 `embedded:storage/key-value` for strings. Keys: at most 15 characters (ESP-IDF NVS). */
export interface KeyValueStore {
	read(key: string): string | undefined;
	write(key: string, value: string): void;
	delete(key: string): void;
	close(): void;
}

export interface System {
	/** Six bytes in hex, joined by colons. */
	readonly macAddress: string;
	readonly idfVersion: string;
	readonly firmwareVersion: string;
	/** Security version of the image, 0 to 65,535. */
	readonly securityVersion: number;
	/** First 16 hex digits of the running image's `app_elf_sha256`; undefined if the firmware does not run from an image. */
	readonly imageId: string | undefined;
	/** Build time of the image in seconds since 1970; 0: unknown. */
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
	/** Writes to the console; a release build has no trace(). */
	print(text: string): void;
	/** @param seconds since 1970 */
	setTime(seconds: number): void;
}

/** Record of the last crash, in memory that survives a restart. */
export interface CrashMemory {
	/** @returns a `crash` of messages.ts if it is undamaged; undefined: none, or cleared */
	read(): unknown;
	clear(): void;
}

/** Latest trace output: 2,000 bytes of ASCII. */
export interface TraceMemory {
	/** Complete lines traced since the start. */
	readonly lineCount: number;
	/** @returns the newest `count` complete lines, if stored; each ends with a line feed */
	read(count: number): string;
}

/** Serial port shared with the log output. */
export interface SerialPort {
	/** Reads received bytes without waiting. @returns the number of bytes; 0: none */
	read(buffer: Uint8Array<ArrayBuffer>): number;
	/** Writes all bytes, uninterrupted by log lines. */
	write(bytes: Uint8Array): void;
	close(): void;
}

/** The global `device`. */
export interface Host {
	readonly model: Model;
	readonly chip: Chip;
	readonly system: Part<object, System>;
	readonly network: {
		readonly wifi: WiFiPart;
		readonly resolve: Resolve;
		/** Sockets of the connection to the gateway, and of downloads. */
		readonly ws: SocketPart;
		readonly http: SocketPart;
		/** The same over TLS, without session resumption: the SDK's cache does not store which authority verified a session. */
		readonly wss: SocketPart;
		readonly https: SocketPart;
		readonly time: TimePart;
		/** Absent: no discovery; the gateway's address must be set. */
		readonly udp?: Part<DatagramOptions, DatagramSocket>;
	};
	readonly update: {
		/** The constructor has no effect on flash. */
		readonly slot: Part<object, UpdateSlot>;
		readonly running: Part<object, RunningImage>;
		readonly boot: Part<object, BootState>;
	};
	readonly crash: Part<object, CrashMemory>;
	readonly trace: Part<object, TraceMemory>;
	/** Absent: no provisioning by USB. */
	readonly serial?: Part<object, SerialPort>;
	readonly digest: { readonly sha256: Part<object, Digest> };
	readonly storage: { readonly settings: Part<object, KeyValueStore> };
	/** Size of the ring buffer for sounds, in XS's heap: at least 40 KB, 1.28 s. */
	readonly soundBufferBytes: number;
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
