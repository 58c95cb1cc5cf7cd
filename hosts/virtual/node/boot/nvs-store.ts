/**
 * The settings in the partition `nvs`, in ESP-IDF's format. Its library leaves a setting whole or as it was at a power cut; how it
 * uses its pages for that is not simulated: each change writes the partition again, as one operation.
 */

import { makeNvsImage, readNvs, settingsNamespace } from "../../../esp32/nvs-image.js";
import type { Flash } from "./flash.js";
import { partitions } from "./partitions.js";

const { offset, byteLength } = partitions.nvs;

/** Also of a device that is off. */
export function readSettings(flash: Flash): Map<string, string> {
	return readNvs(flash.read(offset, byteLength), settingsNamespace);
}

/**
 * Without an operation of the device.
 *
 * @throws {RangeError} if they do not fit NVS
 */
export function loadSettings(flash: Flash, values: ReadonlyMap<string, string>): void {
	flash.load(offset, imageOf(values));
}

export class NvsStore {
	readonly #flash: Flash;
	#values: ReadonlyMap<string, string>;

	constructor({ flash }: { readonly flash: Flash }) {
		this.#flash = flash;
		this.#values = readSettings(flash);
	}

	read(key: string): string | undefined {
		return this.#values.get(key);
	}

	/**
	 * @throws {RangeError} if it does not fit NVS; the old value stays
	 * @throws PowerCut
	 */
	write(key: string, value: string): void {
		if (this.read(key) !== value) this.#store(new Map(this.#values).set(key, value));
	}

	delete(key: string): void {
		const values = new Map(this.#values);
		if (values.delete(key)) this.#store(values);
	}

	#store(values: ReadonlyMap<string, string>): void {
		this.#flash.replace(offset, imageOf(values));
		this.#values = values;
	}
}

function imageOf(values: ReadonlyMap<string, string>): Buffer {
	return Buffer.from(
		makeNvsImage({ byteLength, namespace: settingsNamespace, values: Object.fromEntries(values) }),
	);
}
