/**
 * Persistent settings: those of the installation (network, gateway, token) and remembered values (volume, brightness,
 * clock). To limit flash wear, remembered values are written at most every 5 s.
 */

import Timer from "timer";
import { attempt } from "./attempt.js";
import type { KeyValueStore } from "./host.js";
import type { InstalledSetting, PersistentSetting } from "./protocol/messages.js";

const writeDelayMs = 5_000;
/** Retry interval after a failed write. */
const retryMs = 60_000;

/** Values that the device has determined itself. They survive a factory reset. */
type LearnedSetting = "codec" | "clock" | "sound";
/** At most 15 characters (NVS). A discovered gateway is remembered, and erased with the settings. */
type RememberedSetting = PersistentSetting | LearnedSetting | "gateway";

export interface SettingsOptions {
	readonly store: KeyValueStore;
	/** Value under trial; undefined: the stored value applies. */
	readonly onTrial: (name: InstalledSetting) => string | undefined;
}

export class Settings {
	readonly #store: KeyValueStore;
	readonly #onTrial: SettingsOptions["onTrial"];
	readonly #changed = new Map<RememberedSetting, string>();
	/** Cache: a flash read stalls both cores. */
	readonly #cache = new Map<RememberedSetting, number>();
	#timer: Timer | undefined;

	constructor(options: SettingsOptions) {
		this.#store = options.store;
		this.#onTrial = options.onTrial;
	}

	/** @returns the setting, or an empty string if it is not set */
	text(name: InstalledSetting): string {
		return this.#onTrial(name) ?? this.#store.read(name) ?? "";
	}

	/** @returns the stored number, or `fallback` if none in this range is stored */
	number(name: RememberedSetting, minimum: number, maximum: number, fallback: number): number {
		const text = this.remembered(name);
		const value = Number(text);
		return text !== "" && value >= minimum && value <= maximum ? value : fallback;
	}

	/** @returns the remembered value, or an empty string */
	remembered(name: RememberedSetting): string {
		return this.#changed.get(name) ?? this.#store.read(name) ?? "";
	}

	/** Stores a value, within 5 s; retries each minute if this fails. */
	remember(name: RememberedSetting, value: number | string): void {
		if (this.#cache.get(name) === value) return;
		// Strings may be long, so they are not cached.
		if (typeof value === "number") this.#cache.set(name, value);
		const text = String(value);
		if (this.remembered(name) === text) return;
		this.#changed.set(name, text);
		this.#timer ??= Timer.set(() => this.flush(), writeDelayMs);
	}

	/** Writes all pending values. Must be called before a restart. */
	flush(): void {
		Timer.clear(this.#timer);
		this.#timer = undefined;
		for (const [name, text] of this.#changed)
			if (attempt(`settings: ${name} could not be stored`, () => this.#store.write(name, text)))
				this.#changed.delete(name);
		if (this.#changed.size > 0) this.#timer = Timer.set(() => this.flush(), retryMs);
	}
}
