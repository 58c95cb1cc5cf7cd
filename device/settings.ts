/**
 * Persistent settings: those of the installation (network, gateway, token), and remembered values (volume, brightness, clock).
 * Flash wears, so changes of the latter are written at most once in 5 s.
 */

import config from "mc/config";
import Timer from "timer";
import type { KeyValueStore } from "./host.js";
import { type InstalledSetting, installedSettings } from "./protocol/messages.js";

const writeDelayMs = 5_000;

type RememberedSetting = "volume" | "audible" | "brightness" | "codec" | "clock";
/** At most 15 characters (NVS). */
export type SettingName = InstalledSetting | RememberedSetting;

/** The marker of the values of mcconfig's command line that were stored last. */
const builtInMark = "built_in";

/**
 * Stores the values of mcconfig's command line, once for each image: the image of the next update does not contain them, and what
 * set_settings changes later is stronger. To be called before anything reads the store. The manifest has each setting as an empty
 * text, since the SDK's own manifests name a time server.
 *
 * @param buildTime of the image
 */
export function storeBuiltInSettings(store: KeyValueStore, buildTime: number): void {
	const values: [InstalledSetting, string][] = [];
	for (const name of installedSettings) {
		const value: unknown = config[name];
		if (value !== undefined && value !== "") values.push([name, String(value)]);
	}
	if (values.length === 0) return;
	const mark = fingerprint(`${buildTime} ${JSON.stringify(values)}`);
	try {
		if (store.read(builtInMark) === mark) return;
		for (const [name, value] of values) store.write(name, value);
		// Last: after a power cut all are written again.
		store.write(builtInMark, mark);
	} catch (error) {
		trace(`settings: those of the build could not be stored: ${error}\n`);
	}
}

export interface SettingsOptions {
	readonly store: KeyValueStore;
	/** The value on trial; undefined: the stored one counts. */
	readonly onTrial: (name: InstalledSetting) => string | undefined;
}

export class Settings {
	readonly #store: KeyValueStore;
	readonly #onTrial: SettingsOptions["onTrial"];
	readonly #changed = new Map<RememberedSetting, string>();
	/** So that an unchanged value costs no read of flash, for which both cores wait. */
	readonly #remembered = new Map<RememberedSetting, number>();
	#timer: Timer | undefined;

	constructor(options: SettingsOptions) {
		this.#store = options.store;
		this.#onTrial = options.onTrial;
	}

	/** Empty if not set. */
	text(name: InstalledSetting): string {
		return this.#onTrial(name) ?? this.#store.read(name) ?? "";
	}

	/** @returns `otherwise` if no number from `minimum` to `maximum` is stored */
	number(name: RememberedSetting, minimum: number, maximum: number, otherwise: number): number {
		const text = this.#remembrance(name);
		const value = Number(text);
		return text !== "" && value >= minimum && value <= maximum ? value : otherwise;
	}

	/** Stores a number, within 5 s. */
	remember(name: RememberedSetting, value: number): void {
		if (this.#remembered.get(name) === value) return;
		this.#remembered.set(name, value);
		const text = String(value);
		if (this.#remembrance(name) === text) return;
		this.#changed.set(name, text);
		this.#timer ??= Timer.set(() => this.flush(), writeDelayMs);
	}

	/** Writes all changes; to be called before a restart. */
	flush(): void {
		Timer.clear(this.#timer);
		this.#timer = undefined;
		for (const [name, text] of this.#changed) this.#write(name, text);
		this.#changed.clear();
	}

	#remembrance(name: RememberedSetting): string {
		return this.#changed.get(name) ?? this.#store.read(name) ?? "";
	}

	#write(name: RememberedSetting, text: string): void {
		try {
			this.#store.write(name, text);
		} catch (error) {
			trace(`settings: ${name} could not be written: ${error}\n`);
			// So that it is written the next time.
			this.#remembered.delete(name);
		}
	}
}

/** FNV-1a, 32 bits. */
function fingerprint(text: string): string {
	let hash = 0x811c9dc5;
	for (const byte of new Uint8Array(ArrayBuffer.fromString(text)))
		hash = Math.imul(hash ^ byte, 0x0100_0193) >>> 0;
	return hash.toString(16);
}
