/** Settings in ESP-IDF's NVS. A value that cannot be read counts as not set. */

import KeyValueStorage, { type Storage } from "embedded:storage/key-value";
import type { KeyValueStore } from "../../device/host.js";

/** NVS namespace, at most 15 characters. */
const path = "settings";

export class SettingsStore implements KeyValueStore {
	readonly #storage: Storage = KeyValueStorage.open({ path, format: "string", mode: "r+" });

	read(key: string): string | undefined {
		try {
			const value = this.#storage.read(key);
			return typeof value === "string" ? value : undefined;
		} catch (error) {
			trace(`setting ${key} unreadable: ${error}\n`);
			return undefined;
		}
	}

	write(key: string, value: string): void {
		this.#storage.write(key, value);
	}

	delete(key: string): void {
		this.#storage.delete(key);
	}

	close(): void {
		this.#storage.close();
	}
}
