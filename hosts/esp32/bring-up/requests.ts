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

export const requests = Object.freeze({
	about: {
		ask: nothing,
		answer: object({
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
	},
	/** Tries addresses on two pins, with the chip's own pull-ups. */
	i2c_probe: {
		ask: object({ data: pin, clock: pin, addresses: list(integer(0x08, 0x77), 112) }),
		answer: object({
			answering: list(integer(0x08, 0x77), 112),
			/** A line that stays low though no one drives it. */
			low: optional(oneOf("data", "clock")),
		}),
	},
	/** Absent: there was no answer. */
	i2c_read: {
		ask: object({ data: pin, clock: pin, address: integer(0x08, 0x77), register: byte }),
		answer: object({ value: optional(byte) }),
	},
	/** Of inputs with the chip's pull-up. @returns those that are low */
	levels: { ask: object({ pins: list(pin, 48) }), answer: object({ low: list(pin, 48) }) },
	/** In the order of the ring's pixels, each its red, green and blue. */
	ring: { ask: object({ pixels: list(list(byte, 3), 64) }), answer: outcome },
	/** Plays a rising tone of a second. */
	sweep: { ask: object({ volume: percent }), answer: outcome },
	/** Counts the rising edges of I2S while it runs silently, in hertz. */
	clocks: {
		ask: object({ pins: list(pin, 3) }),
		answer: object({ hz: list(uint32, 3), problem: optional(text) }),
	},
	motor: { ask: object({ percent }), answer: outcome },
	/** Absent: the model has no such sensor, or nothing was measured. */
	sensors: {
		ask: nothing,
		answer: object({ light: optional(integer(0, 4095)), touch: optional(uint32) }),
	},
	/** 12 bits each, of pins of ADC1. */
	analog: { ask: object({ pins: list(pin, 10) }), answer: object({ values: list(integer(0, 4095), 10) }) },
	wifi_scan: {
		ask: nothing,
		answer: object({
			networks: list(object({ ssid: text, rssi: integer(-128, 0) }), 32),
			problem: optional(text),
		}),
	},
	wifi_join: {
		ask: object({ ssid: string(32), password: string(63) }),
		answer: object({ address: optional(text), problem: optional(text) }),
	},
	resolve: {
		ask: object({ host: text }),
		answer: object({ address: optional(text), problem: optional(text) }),
	},
	gateway: {
		ask: object({ url: text, token: string(256), ca: optional(string(4352)) }),
		answer: outcome,
	},
	/** Seconds since 1970; absent: the time server did not answer. */
	time: { ask: object({ server: optional(text) }), answer: object({ seconds: optional(float(0, 1e12)) }) },
	/** A key of at most 15 characters in the NVS that the firmware has its settings in. */
	setting_write: { ask: object({ key: string(15), value: string(256) }), answer: outcome },
	setting_read: { ask: object({ key: string(15) }), answer: object({ value: optional(string(256)) }) },
	setting_delete: { ask: object({ key: string(15) }), answer: outcome },
	/** Answered before it restarts. */
	restart: { ask: nothing, answer: nothing },
} satisfies Readonly<Record<string, { readonly ask: Schema; readonly answer: Schema }>>);

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
