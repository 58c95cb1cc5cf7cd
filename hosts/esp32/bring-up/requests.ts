/**
 * Requests of a computer to the bring-up program on the serial port. A request and its answer, or an error, are a line of JSON each; the
 * types and checks of both sides derive from this table.
 */

import { type Infer, integer, list, object, oneOf, optional, type Schema, string } from "protocol/schema";

/** Prefix of an answer; all other lines of the device are log output. */
export const answerMark = "@";

/** GPIO of an ESP32 or ESP32-S3. */
const pin = integer(0, 48);
const uint32 = integer(0, 4_294_967_295);
const byte = integer(0, 255);
const percent = integer(0, 100);
const text = string(256);
const empty = object({});

function request<const A extends Schema, const B extends Schema>(ask: A, answer: B) {
	return Object.freeze({ ask, answer });
}

export const requests = Object.freeze({
	about: request(
		empty,
		object({
			model: text,
			chip: text,
			/** Chip revision times 100: 2 is v0.2. */
			revision: integer(0, 65_535),
			flash_mb: uint32,
			psram_mb: uint32,
			free_heap_bytes: uint32,
			mac_address: text,
			idf_version: text,
			reset_reason: text,
			partitions: list(object({ name: text, offset: uint32, size: uint32 }), 32),
		}),
	),
	/** Probes addresses on two pins, with the chip's pull-ups. */
	i2c_probe: request(
		object({ data: pin, clock: pin, addresses: list(integer(0x08, 0x77), 112) }),
		object({
			answering: list(integer(0x08, 0x77), 112),
			/** Line that stays low although nothing should drive it. */
			low: optional(oneOf("data", "clock")),
		}),
	),
	/** Reads a register. `value` is absent if the chip does not answer. */
	i2c_read: request(
		object({ data: pin, clock: pin, address: integer(0x08, 0x77), register: byte }),
		object({ value: optional(byte) }),
	),
	/** Reads pins as inputs with the chip's pull-up. `low` lists those that are low. */
	levels: request(object({ pins: list(pin, 48) }), object({ low: list(pin, 48) })),
	/** Sets the pixels of the ring, each as red, green and blue. */
	ring: request(object({ pixels: list(list(byte, 3), 64) }), empty),
	/** Plays a rising tone of 1.3 s. */
	sweep: request(object({ volume: percent }), empty),
	/** Measures I2S clocks in hertz while the output plays silence. */
	clocks: request(object({ pins: list(pin, 3) }), object({ hz: list(uint32, 3) })),
	motor: request(object({ percent }), empty),
	/** Reads the sensors. A value is absent if the model lacks the sensor or there is no measurement. */
	sensors: request(empty, object({ light: optional(integer(0, 4095)), touch: optional(uint32) })),
	/** Reads pins of ADC1 as 12-bit values. */
	analog: request(object({ pins: list(pin, 10) }), object({ values: list(integer(0, 4095), 10) })),
});

export type RequestName = keyof typeof requests;
export type RequestParams<N extends RequestName> = Infer<(typeof requests)[N]["ask"]>;
export type Answer<N extends RequestName> = Infer<(typeof requests)[N]["answer"]>;

/** Measurements beyond the firmware's drivers (device/host.ts). */
export interface Probes {
	readonly revision: number;
	partitions(): Answer<"about">["partitions"];
	/** @returns a complete line received on the serial port; undefined if there is none yet */
	readLine(): string | undefined;
	/** @returns 1 acknowledged, 0 not acknowledged, -1 data stays low, -2 clock stays low, -3 unusable pin */
	probe(data: number, clock: number, address: number): number;
	/** @returns -1 without an answer */
	readRegister(data: number, clock: number, address: number, register: number): number;
	/** Reads a pin with pull-up. @returns 0, 1, or -1 for an unusable pin */
	level(pin: number): number;
	/** Counts rising edges within 1 to 5 ms. @returns 0 if they cannot be counted */
	countEdges(pin: number, ms: number): number;
	/** Shows the given pixels. */
	showPixels(pixels: readonly (readonly number[])[]): void;
	/** Reads a pin of ADC1 as a 12-bit value. @throws Error without an ADC */
	readAnalog(pin: number): number;
}
