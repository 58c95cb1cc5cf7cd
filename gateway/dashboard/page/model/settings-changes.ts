/**
 * Changes of devices' settings. A device restarts to try new ones, and says when it is back whether it keeps them: that takes two
 * minutes where they are wrong. Nothing is kept here of what was sent, which may be a secret.
 */

import type { ChangedSettings, CommandError, SettingsResult } from "../../../../device/protocol/messages.js";
import { messageOf } from "../../../api/client/request.js";
import { sentence } from "../../../api/client/words.js";
import type { Answer, AttemptsOptions } from "./attempts.js";

export type ChangeStatus =
	/** The gateway has not answered yet. */
	| "asked"
	/** The device tries them. */
	| "trying"
	| "kept"
	/** It has the previous settings. */
	| "failed"
	/** It has not said how it ended. */
	| "unknown";

export interface SettingsChange {
	readonly status: ChangeStatus;
	/** Why it is not kept; null otherwise. */
	readonly reason: string | null;
	/** When a device that tries them returns to its previous ones, in milliseconds of this page's clock. */
	readonly endsAt?: number;
}

export interface SettingsChangesOptions extends Omit<AttemptsOptions, "send"> {
	/** Sends them to the gateway; the promise never fails. */
	readonly send: (deviceId: string, value: ChangedSettings) => Promise<Answer>;
}

/** Of a trial: device/settings-trial.ts. */
const trialMs = 120_000;
/** Two trials of two minutes, where the power fails in one, and the way back with a wait of a minute before it. */
export const silenceMs = 6 * 60_000;

export class SettingsChanges {
	readonly #options: SettingsChangesOptions;
	readonly #changes = new Map<string, SettingsChange>();
	/** What waits for the end of a change. */
	readonly #pending = new Map<string, (change: SettingsChange) => void>();

	constructor(options: SettingsChangesOptions) {
		this.#options = options;
	}

	/** The latest change of a device; undefined: there was none. */
	get(deviceId: string): SettingsChange | undefined {
		return this.#changes.get(deviceId);
	}

	/** Ids of the devices that try settings. */
	pending(): Iterable<string> {
		return this.#pending.keys();
	}

	isPending(deviceId: string): boolean {
		return this.#pending.has(deviceId);
	}

	/**
	 * Sends a device new settings.
	 *
	 * @param make makes them; may fail with a sentence
	 * @returns how it ended
	 */
	async change(deviceId: string, make: () => Promise<ChangedSettings>): Promise<SettingsChange> {
		if (this.isPending(deviceId)) return { status: "failed", reason: "Other settings are being tried." };
		return new Promise((resolve) => {
			const silent: SettingsChange = { status: "unknown", reason: silence };
			const stopWaiting = this.#options.later(() => this.#end(deviceId, silent), silenceMs);
			this.#pending.set(deviceId, (change) => {
				stopWaiting();
				resolve(change);
			});
			this.#set(deviceId, { status: "asked", reason: null });
			void this.#send(deviceId, make);
		});
	}

	/** Removes how the latest change ended from view. */
	dismiss(deviceId: string): void {
		if (this.isPending(deviceId)) return;
		this.#changes.delete(deviceId);
		this.#options.onChanged(deviceId);
	}

	/** A device has tried settings. */
	onResult(deviceId: string, { outcome, reason }: SettingsResult): void {
		if (outcome === "kept") this.#end(deviceId, { status: "kept", reason: null });
		else this.#end(deviceId, { status: "failed", reason: sentence(reason ?? "it did not say why") });
	}

	/** A device would not try them. */
	onCommandError(deviceId: string, { command, message }: CommandError): void {
		if (command === "set_settings") this.#end(deviceId, { status: "failed", reason: sentence(message) });
	}

	async #send(deviceId: string, make: () => Promise<ChangedSettings>): Promise<void> {
		try {
			const answer = await this.#options.send(deviceId, await make());
			if (!answer.isTaken) throw new Error(answer.message);
			if (this.#changes.get(deviceId)?.status === "asked")
				this.#set(deviceId, { status: "trying", reason: null, endsAt: this.#options.now() + trialMs });
		} catch (error) {
			this.#end(deviceId, { status: "failed", reason: sentence(messageOf(error)) });
		}
	}

	#end(deviceId: string, change: SettingsChange): void {
		const onEnd = this.#pending.get(deviceId);
		if (!onEnd) return;
		this.#pending.delete(deviceId);
		this.#set(deviceId, change);
		onEnd(change);
	}

	#set(deviceId: string, change: SettingsChange): void {
		this.#changes.set(deviceId, change);
		this.#options.onChanged(deviceId);
	}
}

const silence =
	"It has not said how it ended. If it was sent to another gateway, look there; otherwise look at its ring.";
