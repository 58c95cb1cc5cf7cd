/**
 * What was asked of devices and is not confirmed yet: commands of controls, and new settings. A control shows the value that was
 * asked for until the device's own report confirms it; if that does not happen, it returns to the reported value and says why.
 */

import type { CommandError, SettingsResult, StateReport } from "../../../../device/protocol/messages.js";
import { messageOf } from "../../../api/client/request.js";
import { sentence } from "../../../api/client/words.js";
import type { Ask } from "../../../api/command.js";
import {
	confirmationMs,
	endsConnection,
	goneBefore,
	isConfirmedBy,
	isForConnection,
	unconfirmed,
} from "../../../api/confirmation.js";

/** A command; or new settings, of which nothing is kept here, since they may be secret. */
export type Asked = Ask | typeof newSettings;
export type AskedName = Asked["command"];
export const newSettings = { command: "set_settings" } as const;

export interface Attempt {
	readonly ask: Asked;
	readonly status:
		| "asked"
		/** The gateway has sent it. */
		| "taken"
		/** Kept for new settings alone: the device has not returned to its previous ones. */
		| "done"
		| "failed"
		/** The device has not said how it ended. */
		| "unknown";
	/** Why it is not done; null otherwise. */
	readonly reason: string | null;
	/** When a device that tries settings returns to its previous ones, in milliseconds of the gateway's clock. */
	readonly endsAt?: number;
}

/** How the gateway answered. */
export type Answer =
	| { readonly isTaken: true }
	| { readonly isTaken: false; readonly code: string; readonly message: string };

/** Sends it to the gateway; fails with a sentence. */
type Send = () => Promise<Answer>;

export interface AsksOptions {
	/** Calls `action` once, later. @returns a function that takes that back */
	readonly later: (action: () => void, delayMs: number) => () => void;
	/** Milliseconds of the gateway's clock. */
	readonly now: () => number;
	readonly onChanged: (deviceId: string) => void;
}

/** What ends it. */
interface Rule {
	readonly waitMs: number;
	/** How it ends where nothing is heard in that time. */
	readonly late: Pick<Attempt, "status" | "reason">;
	readonly isConfirmedBy: (report: StateReport, passedMs: number) => boolean;
	/** Whether the device's next connection confirms it. */
	readonly isForConnection: boolean;
	/** Whether the device may disconnect before it has confirmed it. */
	readonly endsConnection: boolean;
}

/** Of a trial: device/settings-trial.ts. */
const trialMs = 120_000;
const settingsRule: Rule = {
	/** Two trials, where the power fails in one, and the way back with a wait of a minute before it. */
	waitMs: 3 * trialMs,
	late: {
		status: "unknown",
		reason:
			"It has not said how it ended. If it was sent to another gateway, look there; otherwise look at its ring.",
	},
	isConfirmedBy: () => false,
	isForConnection: false,
	endsConnection: true,
};

function ruleOf(ask: Asked): Rule {
	if (ask.command === "set_settings") return settingsRule;
	return {
		waitMs: confirmationMs(ask),
		late: { status: "failed", reason: unconfirmed(ask) },
		isConfirmedBy: (report, passedMs) => isConfirmedBy(ask, report, passedMs),
		isForConnection: isForConnection(ask),
		endsConnection: endsConnection(ask),
	};
}

interface Slot {
	readonly deviceId: string;
	readonly rule: Rule;
	attempt: Attempt;
	readonly askedAt: number;
	/** It waits for the gateway's answer; meanwhile `next` sends the latest that was asked for. */
	isOnItsWay: boolean;
	next: Send | undefined;
	readonly stopWaiting: () => void;
	readonly onEnd: (attempt: Attempt) => void;
}

export class Asks {
	readonly #options: AsksOptions;
	readonly #slots = new Map<string, Slot>();

	constructor(options: AsksOptions) {
		this.#options = options;
	}

	/** What was last asked of a device by that name, until it is done, or its failure has been read. */
	get(deviceId: string, name: AskedName): Attempt | undefined {
		return this.#slots.get(slotName(deviceId, name))?.attempt;
	}

	isPending(deviceId: string, name: AskedName): boolean {
		return isPending(this.get(deviceId, name));
	}

	/** Ids of the devices that something is asked of. */
	pending(): readonly string[] {
		return [...this.#slots.values()].flatMap(({ deviceId, attempt }) => (isPending(attempt) ? deviceId : []));
	}

	/**
	 * Asks a device. What was asked before by the same name does not count any more, except new settings: they are tried one
	 * after the other. At most one at a time is sent.
	 *
	 * @returns how it ended
	 */
	ask(deviceId: string, ask: Asked, send: Send): Promise<Attempt> {
		const name = slotName(deviceId, ask.command);
		const previous = this.#slots.get(name);
		if (previous?.rule === settingsRule && isPending(previous.attempt))
			return Promise.resolve({ ask, ...failed("Other settings are being tried.") });
		previous?.stopWaiting();
		previous?.onEnd({ ask, ...failed("Replaced by a newer command.") });
		const isWaiting = previous?.isOnItsWay ?? false;
		return new Promise((onEnd) => {
			const rule = ruleOf(ask);
			const slot: Slot = {
				deviceId,
				rule,
				attempt: { ask, status: "asked", reason: null },
				askedAt: this.#options.now(),
				isOnItsWay: true,
				next: isWaiting ? send : undefined,
				stopWaiting: this.#options.later(() => this.#end(slot, rule.late), rule.waitMs),
				onEnd,
			};
			this.#slots.set(name, slot);
			if (!isWaiting) void this.#send(name, ask, send);
			this.#options.onChanged(deviceId);
		});
	}

	/** Removes how it ended from view. */
	dismiss(deviceId: string, name: AskedName): void {
		if (this.isPending(deviceId, name)) return;
		this.#slots.delete(slotName(deviceId, name));
		this.#options.onChanged(deviceId);
	}

	/** A device reported. */
	onReport(deviceId: string, report: StateReport): void {
		this.#each(deviceId, (slot) => {
			const passedMs = this.#options.now() - slot.askedAt;
			if (slot.rule.isConfirmedBy(report, passedMs)) this.#end(slot, done);
		});
	}

	/** A device has tried settings. */
	onSettingsResult(deviceId: string, { outcome, reason }: SettingsResult): void {
		this.#each(deviceId, (slot) => {
			if (slot.rule === settingsRule)
				this.#end(slot, outcome === "kept" ? done : failed(reason ?? "it did not say why"));
		});
	}

	/** A device would refuse it. */
	onCommandError(deviceId: string, { command, message }: CommandError): void {
		this.#each(deviceId, (slot) => {
			if (slot.attempt.ask.command === command) this.#end(slot, failed(message));
		});
	}

	/** A device has a new connection. */
	onConnected(deviceId: string): void {
		this.#each(deviceId, (slot) => slot.rule.isForConnection && this.#end(slot, done));
	}

	/** A device has gone. */
	onGone(deviceId: string): void {
		this.#each(deviceId, (slot) => slot.rule.endsConnection || this.#end(slot, failed(goneBefore)));
	}

	async #send(name: string, ask: Asked, send: Send): Promise<void> {
		const answer = await send().catch(
			(error: unknown) => ({ isTaken: false, message: messageOf(error) }) as const,
		);
		const slot = this.#slots.get(name);
		if (!slot) return;
		const { next, attempt } = slot;
		slot.next = undefined;
		slot.isOnItsWay = next !== undefined;
		if (next) return this.#send(name, attempt.ask, next);
		if (attempt.ask !== ask || attempt.status !== "asked") return;
		if (!answer.isTaken) return this.#end(slot, failed(answer.message));
		const endsAt = this.#options.now() + trialMs;
		slot.attempt = { ...attempt, status: "taken", ...(slot.rule === settingsRule && { endsAt }) };
		this.#options.onChanged(slot.deviceId);
	}

	#end(slot: Slot, how: Pick<Attempt, "status" | "reason">): void {
		const { deviceId, attempt } = slot;
		const name = slotName(deviceId, attempt.ask.command);
		slot.stopWaiting();
		slot.next = undefined;
		slot.attempt = { ask: attempt.ask, ...how };
		slot.onEnd(slot.attempt);
		if (how === done && slot.rule !== settingsRule) this.#slots.delete(name);
		this.#options.onChanged(deviceId);
	}

	/** Those that are pending. */
	#each(deviceId: string, action: (slot: Slot) => void): void {
		for (const slot of [...this.#slots.values()])
			if (slot.deviceId === deviceId && isPending(slot.attempt)) action(slot);
	}
}

const done = { status: "done", reason: null } as const;

function failed(reason: string): Pick<Attempt, "status" | "reason"> {
	return { status: "failed", reason: sentence(reason) };
}

function isPending(attempt: Attempt | undefined): boolean {
	return attempt?.status === "asked" || attempt?.status === "taken";
}

function slotName(deviceId: string, name: AskedName): string {
	return `${deviceId} ${name}`;
}
