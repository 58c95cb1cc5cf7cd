/**
 * What the device is told (network, gateway, token) and what it remembers (volume, brightness, whether its codec answers).
 * Values from the command line of `mcconfig` stand over those kept on the device. Flash wears, so what changes is written
 * at most once in 5 s.
 */

import config from "mc/config";
import Timer from "timer";
import type { Host, KeyValueStore } from "./host.js";

const writeDelayMs = 5_000;

/** At most 15 characters each (ESP-IDF NVS). */
export type SettingName = GivenSetting | "volume" | "audible" | "brightness" | "codec" | "clock";
type GivenSetting = "ssid" | "password" | "gateway" | "token" | "ca" | "sntp";

/** What a person gives when flashing. */
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
	/** What was remembered last, so that a value that stays as it is costs no read of flash: both cores wait for each. */
	readonly #remembered = new Map<SettingName, number>();
	#timer: Timer | undefined;

	constructor(options: SettingsOptions) {
		this.#store = new options.part({});
		for (const name of givenSettings) this.#keep(name);
	}

	/** A setting as text; empty where it is not set. */
	text(name: SettingName): string {
		const given: unknown = config[name];
		if (given !== undefined && given !== "") return String(given);
		return this.#changed.get(name) ?? this.#store.read(name) ?? "";
	}

	/** A remembered number; `otherwise` where there is none from `minimum` to `maximum`. */
	number(name: SettingName, minimum: number, maximum: number, otherwise: number): number {
		const text = this.text(name);
		const value = Number(text);
		return text !== "" && value >= minimum && value <= maximum ? value : otherwise;
	}

	/** Remembers a number, across restarts, soon. */
	remember(name: SettingName, value: number): void {
		if (this.#remembered.get(name) === value) return;
		this.#remembered.set(name, value);
		const text = String(value);
		if (this.text(name) === text) return;
		this.#changed.set(name, text);
		this.#timer ??= Timer.set(() => this.flush(), writeDelayMs);
	}

	/** Writes what has not been written; before a restart that is wanted. */
	flush(): void {
		Timer.clear(this.#timer);
		this.#timer = undefined;
		for (const [name, text] of this.#changed) this.#write(name, text);
		this.#changed.clear();
	}

	/** Keeps what the command line gave: the image of the next update, built for a fleet, does not know it. */
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
			// It is written the next time that it is remembered.
			this.#remembered.delete(name);
		}
	}
}
