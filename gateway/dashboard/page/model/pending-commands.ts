/**
 * Commands and settings that were sent to devices and are not confirmed yet. A control shows the requested value until the device's
 * report confirms it. After a rejection or a timeout it shows the reported value again, with the reason.
 */

import { messageOf } from "../../../../device/message-of.js";
import { sentence, withFieldName } from "../../../api/client/words.js";
import type { ConfirmableCommand } from "../../../api/commands.js";
import { confirmationMs, type DeviceEvent, endOf, unconfirmedReason } from "../../../api/confirmation.js";
import { settingLabels } from "./setting-labels.js";

/** Command, or new settings, whose values are not kept because they may be secret. */
export type RequestedCommand = ConfirmableCommand | typeof newSettings;
export type RequestedName = RequestedCommand["command"];
export const newSettings = { command: "set_settings" } as const;

export interface Attempt {
	readonly ask: RequestedCommand;
	readonly status: "pending" | "done" | "failed";
	/** Reason of a failure; null otherwise. */
	readonly reason: string | null;
	/** End of a settings trial, in milliseconds of the gateway's clock; the device then restores its previous settings. */
	readonly endsAt?: number;
}

/** Sends the request to the gateway. Rejects with an error whose message is shown. */
type Send = () => Promise<void>;

export interface PendingCommandsOptions {
	/** Time of the gateway's clock, in ms. */
	readonly now: () => number;
	readonly onChanged: (deviceId: string) => void;
}

/** Duration of a settings trial (device/settings-trial.ts). */
const trialMs = 120_000;
/** Timeout of new settings: two trials, if the power fails during the first, plus a wait of a minute and the restart. */
const settingsMs = 3 * trialMs;
const noResult =
	"No result received. If the device was moved to another gateway, look for it there. Otherwise check its ring.";

interface Slot {
	readonly deviceId: string;
	attempt: Attempt;
	readonly sentAt: number;
	readonly onEnd: (attempt: Attempt) => void;
}

export class PendingCommands {
	readonly #options: PendingCommandsOptions;
	readonly #slots = new Map<string, Slot>();

	constructor(options: PendingCommandsOptions) {
		this.#options = options;
	}

	/** Latest attempt of a command on a device, until it succeeds or its failure is dismissed. */
	get(deviceId: string, name: RequestedName): Attempt | undefined {
		return this.#slots.get(slotName(deviceId, name))?.attempt;
	}

	isPending(deviceId: string, name: RequestedName): boolean {
		return isPending(this.get(deviceId, name));
	}

	/** Ids of the devices with a pending command. */
	pending(): readonly string[] {
		return [...this.#slots.values()].flatMap(({ deviceId, attempt }) => (isPending(attempt) ? deviceId : []));
	}

	/**
	 * Sends a command to a device. It supersedes a pending one of the same name, except for settings, which are rejected while
	 * others are being tried.
	 *
	 * @returns the attempt once it has succeeded or failed
	 */
	start(deviceId: string, ask: RequestedCommand, send: Send): Promise<Attempt> {
		const name = slotName(deviceId, ask.command);
		const previous = this.#slots.get(name);
		if (isSettings(ask) && isPending(previous?.attempt))
			return Promise.resolve({ ask, ...failed("Other settings are being tried.") });
		if (previous) this.#end(previous, failed("Replaced by a newer command."));
		return new Promise((onEnd) => {
			const slot: Slot = {
				deviceId,
				attempt: { ask, status: "pending", reason: null },
				sentAt: this.#options.now(),
				onEnd,
			};
			const onTimeout = () => this.#end(slot, failed(isSettings(ask) ? noResult : unconfirmedReason(ask)));
			setTimeout(onTimeout, isSettings(ask) ? settingsMs : confirmationMs(ask));
			this.#slots.set(name, slot);
			void this.#attempt(slot, send);
			this.#options.onChanged(deviceId);
		});
	}

	/** Hides a failed attempt. */
	dismiss(deviceId: string, name: RequestedName): void {
		if (this.isPending(deviceId, name)) return;
		this.#slots.delete(slotName(deviceId, name));
		this.#options.onChanged(deviceId);
	}

	/** Completes the pending commands that an event of the device confirms or fails. */
	onEvent(deviceId: string, event: DeviceEvent): void {
		for (const slot of [...this.#slots.values()]) {
			const { ask } = slot.attempt;
			if (slot.deviceId !== deviceId) continue;
			const elapsedMs = this.#options.now() - slot.sentAt;
			const end = isSettings(ask) ? endOfSettings(event) : endOf(ask, event, elapsedMs);
			if (end) this.#end(slot, end.reason === null ? done : failed(end.reason));
		}
	}

	async #attempt(slot: Slot, send: Send): Promise<void> {
		const problem = await send().then(() => undefined, messageOf);
		const { deviceId, attempt } = slot;
		if (!isPending(attempt)) return;
		if (problem !== undefined) return this.#end(slot, failed(problem));
		if (!isSettings(attempt.ask)) return;
		slot.attempt = { ...attempt, endsAt: this.#options.now() + trialMs };
		this.#options.onChanged(deviceId);
	}

	#end(slot: Slot, end: End): void {
		const { deviceId, attempt } = slot;
		if (!isPending(attempt)) return;
		slot.attempt = { ask: attempt.ask, ...end };
		slot.onEnd(slot.attempt);
		if (end === done) this.#slots.delete(slotName(deviceId, attempt.ask.command));
		this.#options.onChanged(deviceId);
	}
}

type End = Pick<Attempt, "status" | "reason">;

const done = { status: "done", reason: null } as const;

function failed(reason: string): End {
	return { status: "failed", reason: sentence(withFieldName(reason, settingLabels)) };
}

/** Result of a settings trial, which only the device reports. */
function endOfSettings(event: DeviceEvent): { readonly reason: string | null } | undefined {
	if (event.type === "settings_result")
		return { reason: event.outcome === "kept" ? null : (event.reason ?? "no reason reported") };
	const isRejection = event.type === "command_error" && event.command === newSettings.command;
	return isRejection ? { reason: event.message } : undefined;
}

function isSettings(ask: RequestedCommand): ask is typeof newSettings {
	return ask.command === "set_settings";
}

function isPending(attempt: Attempt | undefined): boolean {
	return attempt?.status === "pending";
}

/** A new volume supersedes a pending mute, and the reverse. */
function slotName(deviceId: string, name: RequestedName): string {
	return `${deviceId} ${name === "set_mute" ? "set_volume" : name}`;
}
