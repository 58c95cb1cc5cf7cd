/**
 * Settings in the partition `nvs`, in ESP-IDF's format. ESP-IDF's library makes each change atomic across power cuts; its use of pages for
 * this is not simulated. Instead, each change replaces the partition in one operation.
 */

import { makeNvsImage, readNvs, settingsNamespace } from "../../../esp32/nvs-image.js";
import type { Flash } from "./flash.js";
import { partitions } from "./partitions.js";

const { offset, byteLength } = partitions.nvs;

/** Reads settings, also of a device that is off. */
export function readSettings(flash: Flash): Map<string, string> {
	return readNvs(flash.read(offset, byteLength), settingsNamespace);
}

/**
 * Replaces the settings without an operation of the device.
 *
 * @throws {RangeError} if the settings do not fit NVS
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
	 * @throws {RangeError} if the value does not fit NVS; the old value is kept
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
