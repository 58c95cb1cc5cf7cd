/**
 * An optional unit of the firmware: a file or folder, listed in main.ts. It executes commands and responds to lifecycle
 * events: connection, update and restart.
 */

import type { Command } from "./protocol/messages.js";

/** Reason for rejecting a command that matches its schema. */
export interface CommandRejection {
	readonly code: "busy" | "invalid_value" | "unknown_command";
	/** One sentence: what is wrong and what to do. */
	readonly message: string;
}

/** Undefined: another component handles the command. */
export type CommandOutcome = "executed" | CommandRejection | undefined;

export interface Component {
	execute?(command: Command): CommandOutcome;
	/** @returns a sentence that explains why no update, settings trial or restart can begin now; undefined: one can */
	findBusyReason?(): string | undefined;
	onConnected?(): void;
	onDisconnected?(): void;
	/** The gateway has received a report on this connection, and no message is queued. */
	onReported?(): void;
	/** @param isRunning true: an update begins; false: it has failed */
	onUpdate?(isRunning: boolean): void;
	/** Called before a restart. Messages sent here still reach the gateway. */
	onRestart?(): void;
}

export function busy(message: string): CommandRejection {
	return { code: "busy", message };
}
