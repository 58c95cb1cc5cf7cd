/**
 * Trial of new settings: they are kept only if the device reaches the gateway with them. NVS writes are atomic only
 * for single values, so one marker decides which settings apply, whenever power fails.
 *
 * `begin` stores the candidates beside the current values, then the marker, and the device restarts. Once a report was
 * sent, the marker becomes `kept` and the candidates replace the current values; otherwise it becomes `returned` and
 * they are deleted. The next start completes an interrupted step. The marker is deleted when the result is sent.
 */

import Timer from "timer";
import { attempt } from "./attempt.js";
import type { KeyValueStore } from "./host.js";
import { messageOf } from "./message-of.js";
import { parseGatewayUrl } from "./network/gateway-url.js";
import {
	type ChangedSettings,
	type InstalledSetting,
	installedSettings,
	persistentSettings,
	type SettingsResult,
} from "./protocol/messages.js";
import { readAuthority } from "./update/authority.js";

/** Uptime limit of each start of a trial. */
const limitMs = 120_000;
/** Starts per trial: one interrupted by a power cut, or by a crash that the settings cause, is repeated once. */
const maxStarts = 2;

const marker = "trial";
/** Values of the marker; during a trial: the number of starts left. */
const kept = "kept";
const returned = "returned ";
const maxReasonCharacters = 400;

/** Limit of IEEE 802.11. */
const maxSsidBytes = 32;
/** An NVS value holds 3999 bytes; the prefix of a candidate takes one. */
const maxAuthorityCharacters = 3996;

type Store = Pick<KeyValueStore, "read" | "write" | "delete">;

export interface SettingsTrialOptions {
	readonly store: Store;
	/** Returns why the gateway is unreachable. */
	readonly getFailureReason: () => string;
	/** Restarts, which restores the previous settings. */
	readonly restart: () => void;
	/** Sends the result. onReported() must be called once it is sent. */
	readonly send: (result: Pick<SettingsResult, "outcome" | "reason">) => void;
}

export class SettingsTrial {
	readonly #options: SettingsTrialOptions;
	#timer: Timer | undefined;
	/** Whether the candidates apply. */
	#isInForce = false;
	#hasBegun = false;
	#result: Pick<SettingsResult, "outcome" | "reason"> | undefined;
	#isSending = false;

	/** Continues a trial that an earlier start began. */
	constructor(options: SettingsTrialOptions) {
		this.#options = options;
		const state = options.store.read(marker) ?? "";
		// If this fails, the next start retries.
		attempt("settings", () => this.#continue(state));
	}

	/** Whether a trial is running without a decision. */
	get isUndecided(): boolean {
		return this.#timer !== undefined;
	}

	/** Whether a trial is running or its result is unsent. Blocks other trials and updates. */
	get isOn(): boolean {
		return this.#hasBegun || this.#timer !== undefined || this.#result !== undefined || this.#isInForce;
	}

	/** @returns the candidate; undefined: the stored value applies */
	value(name: InstalledSetting): string | undefined {
		return this.#isInForce ? this.#options.store.read(candidate(name))?.slice(1) : undefined;
	}

	/**
	 * Stores new settings for a trial at the next start. Must not be called while isOn.
	 * @returns a sentence that explains what to change; undefined: the device must restart
	 */
	begin(changed: ChangedSettings): string | undefined {
		const { store } = this.#options;
		const problem = findProblem(changed, store);
		if (problem !== undefined) return problem;
		try {
			store.delete(marker);
			for (const name of installedSettings) {
				const value = valueIn(changed, name);
				if (value === undefined) store.delete(candidate(name));
				// The prefix keeps an empty string, which removes the setting, apart from a missing candidate.
				else store.write(candidate(name), `=${name === "ca" ? authority(value) : value}`);
			}
			// The trial begins here.
			store.write(marker, String(maxStarts));
		} catch (error) {
			this.#discard();
			return `the new settings could not be stored: ${error}`;
		}
		this.#hasBegun = true;
		return undefined;
	}

	/** Keeps the settings: the gateway has received a report. */
	onReported(): void {
		if (this.#timer && !this.#keep()) return;
		if (!this.#result) return;
		if (!this.#isSending) {
			this.#isSending = true;
			// Calls back when sent, perhaps synchronously.
			this.#options.send(this.#result);
			return;
		}
		this.#result = undefined;
		// If keeping failed, the next start retries.
		if (!this.#isInForce) attempt("settings", () => this.#options.store.delete(marker));
	}

	/** The connection was lost: the result is sent on the next one. */
	onLost(): void {
		this.#isSending = false;
	}

	#continue(state: string): void {
		if (state === "") return;
		if (state === kept) return this.#complete();
		if (state.startsWith(returned)) {
			this.#result = { outcome: "returned", reason: state.slice(returned.length) };
			return this.#discard();
		}
		const left = Number(state);
		if (!(left > 0))
			return this.#return("the device restarted during the trial, and again when it was repeated");
		this.#options.store.write(marker, String(left - 1));
		this.#isInForce = true;
		this.#timer = Timer.set(() => this.#onTimeout(), limitMs);
	}

	/** @returns false on failure; the next report retries */
	#keep(): boolean {
		// This write switches to the new settings atomically.
		if (!attempt("settings", () => this.#options.store.write(marker, kept))) return false;
		Timer.clear(this.#timer);
		this.#timer = undefined;
		attempt("settings", () => this.#complete());
		return true;
	}

	/** Replaces the settings by the candidates. Every step is idempotent. */
	#complete(): void {
		const { store } = this.#options;
		this.#result = { outcome: "kept" };
		this.#isInForce = true;
		for (const name of installedSettings) {
			const value = this.value(name);
			if (value === undefined) continue;
			replace(store, name, value);
			store.delete(candidate(name));
		}
		this.#isInForce = false;
	}

	#onTimeout(): void {
		this.#timer = undefined;
		attempt("settings", () => this.#return(this.#options.getFailureReason()));
		this.#options.restart();
	}

	#return(reason: string): void {
		this.#result = { outcome: "returned", reason: reason.slice(0, maxReasonCharacters) };
		this.#options.store.write(marker, `${returned}${this.#result.reason}`);
		this.#discard();
	}

	#discard(): void {
		attempt("settings", () => {
			for (const name of installedSettings) this.#options.store.delete(candidate(name));
		});
	}
}

/**
 * Stores settings without a trial, for a device without working settings to fall back to. The device must restart.
 * @returns a sentence that explains what to change; undefined: stored @throws Error if flash cannot be written
 */
export function storeSettings(store: Store, changed: ChangedSettings): string | undefined {
	const problem = findProblem(changed, store);
	if (problem !== undefined) return problem;
	// Cancels a trial.
	store.delete(marker);
	for (const name of installedSettings) {
		const value = valueIn(changed, name);
		if (value !== undefined) replace(store, name, name === "ca" ? authority(value) : value);
	}
	return undefined;
}

/** Writes a setting; an empty string removes it. */
function replace(store: Store, name: InstalledSetting, value: string): void {
	if (value === "") store.delete(name);
	else store.write(name, value);
}

/** Factory reset: deletes installed settings and values set by commands or buttons, not those the device has determined itself. */
export function eraseSettings(store: Pick<KeyValueStore, "delete">): void {
	// First, so that candidates do not become effective.
	store.delete(marker);
	for (const name of installedSettings) {
		store.delete(name);
		store.delete(candidate(name));
	}
	for (const name of persistentSettings) store.delete(name);
}

/** Key of a candidate. */
function candidate(name: InstalledSetting): string {
	return `new_${name}`;
}

/** Removing a network also removes its password. */
function valueIn(changed: ChangedSettings, name: InstalledSetting): string | undefined {
	return name === "password2" && changed.ssid2 === "" ? "" : changed[name];
}

/** Performs the checks that the schema cannot express. */
function findProblem(changed: ChangedSettings, store: Store): string | undefined {
	const { password2, gateway, ca } = changed;
	for (const name of ["ssid", "ssid2"] as const)
		if (bytesOf(changed[name] ?? "") > maxSsidBytes)
			return `${name} must be at most ${maxSsidBytes} bytes long`;
	if (password2 && !(changed.ssid2 ?? store.read("ssid2")))
		return "password2 requires ssid2, the name of the second network";
	try {
		if (gateway !== undefined) parseGatewayUrl(gateway);
		if (ca !== undefined && authority(ca).length > maxAuthorityCharacters)
			return "ca must be a certificate of at most 2997 bytes in DER";
	} catch (error) {
		return messageOf(error);
	}
	return undefined;
}

/** Length in UTF-8. */
function bytesOf(text: string): number {
	let count = 0;
	for (const character of text) {
		const code = character.codePointAt(0) ?? 0;
		count += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x1_0000 ? 3 : 4;
	}
	return count;
}

/** @returns DER in base64; empty for an empty string @throws Error for an invalid certificate */
function authority(pem: string): string {
	return pem === "" ? "" : readAuthority(pem, "ca");
}
