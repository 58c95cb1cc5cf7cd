/**
 * Requests to devices that are not confirmed yet. A control shows the value that was asked for until the device's own report
 * confirms it. If that does not happen, the control returns to the reported value and says why.
 */

import type { CommandError, StateReport } from "../../../../device/protocol/messages.js";
import { sentence } from "../../../api/client/words.js";
import type { Ask, AskName } from "../../../api/command.js";
import {
	confirmationMs,
	endsConnection,
	goneBefore,
	isConfirmedBy,
	isForConnection,
	unconfirmed,
} from "../../../api/confirmation.js";

export type { Ask, AskName };

export interface Attempt {
	readonly ask: Ask;
	/** What was asked for, until the report says so; null: it was refused, for `reason`. */
	readonly reason: string | null;
}

/** How the gateway answered. */
export type Answer =
	| { readonly isTaken: true }
	| { readonly isTaken: false; readonly code: string; readonly message: string };

export interface AttemptsOptions {
	/** Sends it to the gateway; the promise never fails. */
	readonly send: (deviceId: string, ask: Ask) => Promise<Answer>;
	/** Calls `action` once, later. @returns a function that takes that back */
	readonly later: (action: () => void, delayMs: number) => () => void;
	/** Milliseconds of this page's clock. */
	readonly now: () => number;
	readonly onChanged: (deviceId: string) => void;
}

interface Slot {
	attempt: Attempt;
	readonly askedAt: number;
	/** It waits for the gateway's answer; meanwhile `next` is the latest that was asked for. */
	isOnItsWay: boolean;
	next: Ask | undefined;
	readonly giveUp: () => void;
	/** Called once. @param reason why it was not done; null: it was */
	readonly onEnd: (reason: string | null) => void;
}

export class Attempts {
	readonly #options: AttemptsOptions;
	readonly #slots = new Map<string, Slot>();

	constructor(options: AttemptsOptions) {
		this.#options = options;
	}

	/** What was last asked of a device by that name, while it is unconfirmed or refused. */
	get(deviceId: string, name: AskName): Attempt | undefined {
		return this.#slots.get(slotName(deviceId, name))?.attempt;
	}

	/** Ids of the devices that something is asked of. */
	pending(): readonly string[] {
		return [...this.#slots].flatMap(([name, { attempt }]) =>
			attempt.reason === null ? name.slice(0, name.lastIndexOf(" ")) : [],
		);
	}

	/** Asks a device. @returns why it was not done; null: it was */
	done(deviceId: string, ask: Ask): Promise<string | null> {
		return new Promise((resolve) => this.ask(deviceId, ask, resolve));
	}

	/** Asks a device; what was asked before by the same name does not count any more. At most one at a time is sent. */
	ask(deviceId: string, ask: Ask, onEnd: (reason: string | null) => void = () => {}): void {
		const name = slotName(deviceId, ask.command);
		const previous = this.#slots.get(name);
		previous?.giveUp();
		previous?.onEnd("Replaced by a newer command.");
		const giveUp = this.#options.later(
			() => this.#refuse(deviceId, ask.command, unconfirmed(ask)),
			confirmationMs(ask),
		);
		const isWaiting = previous?.isOnItsWay ?? false;
		this.#slots.set(name, {
			attempt: { ask, reason: null },
			askedAt: this.#options.now(),
			isOnItsWay: true,
			next: isWaiting ? ask : undefined,
			giveUp,
			onEnd,
		});
		if (!isWaiting) void this.#send(deviceId, ask);
		this.#options.onChanged(deviceId);
	}

	/** Takes back a refusal that has been read. */
	dismiss(deviceId: string, name: AskName): void {
		const slot = this.#slots.get(slotName(deviceId, name));
		if (slot?.attempt.reason) this.#drop(deviceId, name);
	}

	/** A device reported. */
	onReport(deviceId: string, report: StateReport): void {
		this.#each(deviceId, ({ attempt: { ask, reason }, askedAt }) => {
			const passedMs = this.#options.now() - askedAt;
			if (reason === null && isConfirmedBy(ask, report, passedMs)) this.#drop(deviceId, ask.command);
		});
	}

	/** A device would refuse it. */
	onCommandError(deviceId: string, { command, message }: CommandError): void {
		this.#each(deviceId, ({ attempt: { ask, reason } }) => {
			if (reason === null && ask.command === command) this.#refuse(deviceId, ask.command, sentence(message));
		});
	}

	/** A device has a new connection. */
	onConnected(deviceId: string): void {
		this.#each(deviceId, ({ attempt: { ask, reason } }) => {
			if (reason !== null) return;
			if (isForConnection(ask)) this.#drop(deviceId, ask.command);
		});
	}

	/** A device has gone. */
	onGone(deviceId: string): void {
		this.#each(deviceId, ({ attempt: { ask, reason } }) => {
			if (reason === null && !endsConnection(ask)) this.#refuse(deviceId, ask.command, goneBefore);
		});
	}

	async #send(deviceId: string, ask: Ask): Promise<void> {
		const answer = await this.#options.send(deviceId, ask);
		const slot = this.#slots.get(slotName(deviceId, ask.command));
		if (!slot) return;
		const { next } = slot;
		slot.next = undefined;
		slot.isOnItsWay = next !== undefined;
		if (next) void this.#send(deviceId, next);
		else if (!answer.isTaken && slot.attempt.ask === ask)
			this.#refuse(deviceId, ask.command, sentence(answer.message));
	}

	#refuse(deviceId: string, name: AskName, reason: string): void {
		const slot = this.#slots.get(slotName(deviceId, name));
		if (!slot) return;
		slot.giveUp();
		slot.next = undefined;
		slot.attempt = { ...slot.attempt, reason };
		slot.onEnd(reason);
		this.#options.onChanged(deviceId);
	}

	#drop(deviceId: string, name: AskName): void {
		const key = slotName(deviceId, name);
		const slot = this.#slots.get(key);
		this.#slots.delete(key);
		slot?.giveUp();
		slot?.onEnd(null);
		this.#options.onChanged(deviceId);
	}

	#each(deviceId: string, action: (slot: Slot) => void): void {
		for (const [name, slot] of [...this.#slots]) if (name.startsWith(`${deviceId} `)) action(slot);
	}
}

function slotName(deviceId: string, name: AskName): string {
	return `${deviceId} ${name}`;
}
