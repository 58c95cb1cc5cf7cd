/** Settings in ESP-IDF's NVS. A value that cannot be read counts as not set. */

import KeyValueStorage, { type Storage } from "embedded:storage/key-value";
import { nativeFunctions } from "board/native";
import type { KeyValueStore } from "../../device/host.js";

/** NVS namespace, at most 15 characters. */
const path = "settings";

export class SettingsStore implements KeyValueStore {
	/** Erases the whole NVS. Present only if no page is free, which prevents changing settings. */
	readonly erase: (() => void) | undefined;
	readonly #storage: Storage;

	constructor() {
		const ffi = nativeFunctions();
		const isReadOnly = ffi.board_nvs_is_read_only() === 1;
		this.erase = isReadOnly ? () => eraseNvs(ffi) : undefined;
		if (isReadOnly)
			trace(
				"settings are read-only: the NVS has no free page. Hold play and mute for 10 s to erase it, or flash the board again.\n",
			);
		this.#storage = KeyValueStorage.open({ path, format: "string", mode: isReadOnly ? "r" : "r+" });
	}

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

function eraseNvs(ffi: ReturnType<typeof nativeFunctions>): void {
	const result = ffi.board_nvs_erase();
	if (result !== 0) trace(`erasing the NVS failed: ${ffi.esp_err_to_name(result)}\n`);
}
