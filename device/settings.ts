/**
 * Persistent settings: those given when flashing, and remembered values. Values from the command line of `mcconfig` take
 * precedence. Flash wears, so changes are written at most once in 5 s.
 */

import config from "mc/config";
import Timer from "timer";
import type { Host, KeyValueStore } from "./host.js";

const writeDelayMs = 5_000;

/** At most 15 characters (NVS). */
export type SettingName = GivenSetting | "volume" | "audible" | "brightness" | "codec" | "clock";
type GivenSetting = "ssid" | "password" | "gateway" | "token" | "ca" | "sntp";

const givenSettings: readonly GivenSetting[] = Object.freeze([
	"ssid",
	"password",
	"gateway",
	"token",
	"ca",
	"sntp",
]);

export interface SettingsOptions {
	readonly part: Host["storage"]["settings"];
}

export class Settings {
	readonly #store: KeyValueStore;
	readonly #changed = new Map<SettingName, string>();
	/** So that an unchanged value costs no read of flash, for which both cores wait. */
	readonly #remembered = new Map<SettingName, number>();
	#timer: Timer | undefined;

	constructor(options: SettingsOptions) {
		this.#store = new options.part({});
		for (const name of givenSettings) this.#keep(name);
	}

	/** Empty if not set. */
	text(name: SettingName): string {
		const given: unknown = config[name];
		if (given !== undefined && given !== "") return String(given);
		return this.#changed.get(name) ?? this.#store.read(name) ?? "";
	}

	/** @returns `otherwise` if no number from `minimum` to `maximum` is stored */
	number(name: SettingName, minimum: number, maximum: number, otherwise: number): number {
		const text = this.text(name);
		const value = Number(text);
		return text !== "" && value >= minimum && value <= maximum ? value : otherwise;
	}

	/** Stores a number, within 5 s. */
	remember(name: SettingName, value: number): void {
		if (this.#remembered.get(name) === value) return;
		this.#remembered.set(name, value);
		const text = String(value);
		if (this.text(name) === text) return;
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

	/** Stores a value of the command line: the next image does not contain it. */
	#keep(name: SettingName): void {
		const given = this.text(name);
		if (given === "" || this.#store.read(name) === given) return;
		this.#write(name, given);
	}

	#write(name: SettingName, text: string): void {
		try {
			this.#store.write(name, text);
		} catch (error) {
			trace(`settings: ${name} could not be written: ${error}\n`);
			// So that it is written the next time.
			this.#remembered.delete(name);
		}
	}
}
