/**
 * What a computer can ask of the bring-up program over the serial port. A request and its answer are a line of JSON each; the
 * types and the checks of both sides follow from this table.
 */

import {
	float,
	type Infer,
	integer,
	list,
	object,
	oneOf,
	optional,
	type Schema,
	string,
} from "protocol/schema";

/** A line of the device that is an answer begins so; all others are its log. */
export const answerMark = "@";

/** GPIO of an ESP32 or ESP32-S3. */
const pin = integer(0, 48);
const uint32 = integer(0, 4_294_967_295);
const byte = integer(0, 255);
const percent = integer(0, 100);
const text = string(256);
const nothing = object({});
/** Why it did not work; absent: it did. */
const outcome = object({ problem: optional(text) });

const partition = object({
	name: text,
	/** esp_partition_type_t and esp_partition_subtype_t. */
	type: byte,
	subtype: byte,
	offset: uint32,
	size: uint32,
});

function request<const A extends Schema, const B extends Schema>(ask: A, answer: B) {
	return Object.freeze({ ask, answer });
}

export const requests = Object.freeze({
	about: request(
		nothing,
		object({
			model: text,
			chip: text,
			/** As Espressif writes it, times 100: 2 is v0.2. */
			revision: integer(0, 65_535),
			flash_mb: uint32,
			psram_mb: uint32,
			free_heap_bytes: uint32,
			mac_address: text,
			idf_version: text,
			reset_reason: text,
			partitions: list(partition, 32),
		}),
	),
	/** Tries addresses on two pins, with the chip's own pull-ups. */
	i2c_probe: request(
		object({ data: pin, clock: pin, addresses: list(integer(0x08, 0x77), 112) }),
		object({
			answering: list(integer(0x08, 0x77), 112),
			/** A line that stays low though no one drives it. */
			low: optional(oneOf("data", "clock")),
		}),
	),
	/** Absent: there was no answer. */
	i2c_read: request(
		object({ data: pin, clock: pin, address: integer(0x08, 0x77), register: byte }),
		object({ value: optional(byte) }),
	),
	/** Of inputs with the chip's pull-up. @returns those that are low */
	levels: request(object({ pins: list(pin, 48) }), object({ low: list(pin, 48) })),
	/** In the order of the ring's pixels, each its red, green and blue. */
	ring: request(object({ pixels: list(list(byte, 3), 64) }), outcome),
	/** Plays a rising tone of a second. */
	sweep: request(object({ volume: percent }), outcome),
	/** Counts the rising edges of I2S while it runs silently, in hertz. */
	clocks: request(object({ pins: list(pin, 3) }), object({ hz: list(uint32, 3), problem: optional(text) })),
	motor: request(object({ percent }), outcome),
	/** Absent: the model has no such sensor, or nothing was measured. */
	sensors: request(nothing, object({ light: optional(integer(0, 4095)), touch: optional(uint32) })),
	/** 12 bits each, of pins of ADC1. */
	analog: request(object({ pins: list(pin, 10) }), object({ values: list(integer(0, 4095), 10) })),
	wifi_scan: request(
		nothing,
		object({
			networks: list(object({ ssid: text, rssi: integer(-128, 0) }), 32),
			problem: optional(text),
		}),
	),
	wifi_join: request(
		object({ ssid: string(32), password: string(63) }),
		object({ address: optional(text), problem: optional(text) }),
	),
	resolve: request(object({ host: text }), object({ address: optional(text), problem: optional(text) })),
	gateway: request(object({ url: text, token: string(256), ca: optional(string(4352)) }), outcome),
	/** Seconds since 1970; absent: the time server did not answer. */
	time: request(object({ server: optional(text) }), object({ seconds: optional(float(0, 1e12)) })),
	/** A key of at most 15 characters in the NVS that the firmware has its settings in. */
	setting_write: request(object({ key: string(15), value: string(256) }), outcome),
	setting_read: request(object({ key: string(15) }), object({ value: optional(string(256)) })),
	setting_delete: request(object({ key: string(15) }), outcome),
	/** Answered before it restarts. */
	restart: request(nothing, nothing),
});

export type RequestName = keyof typeof requests;
export type Ask<N extends RequestName> = Infer<(typeof requests)[N]["ask"]>;
export type Answer<N extends RequestName> = Infer<(typeof requests)[N]["answer"]>;

/** What a host can measure beside the firmware's own drivers (device/host.ts). */
export interface Probes {
	readonly revision: number;
	partitions(): Answer<"about">["partitions"];
	/** @returns a complete line of the serial port, without waiting; undefined: there is none yet */
	readLine(): string | undefined;
	/** @returns 1: acknowledged, 0: not, -1: data stays low, -2: clock stays low, -3: a pin cannot be used */
	probe(data: number, clock: number, address: number): number;
	/** @returns -1 if there was no answer */
	readRegister(data: number, clock: number, address: number, register: number): number;
	/** With pull-up. @returns 0, 1, or -1: the pin cannot be used */
	level(pin: number): number;
	/** Rising edges within `ms`, 1 to 5; 0 if they cannot be counted. */
	countEdges(pin: number, ms: number): number;
	/** Shows as many pixels as given. @throws Error where there is no ring */
	showPixels(pixels: readonly (readonly number[])[]): void;
	/** 12 bits, at a pin of ADC1. @throws Error where there is none */
	readAnalog(pin: number): number;
}
