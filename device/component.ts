/**
 * An optional unit of the firmware: a file or folder, listed in main.ts. It executes commands and responds to lifecycle
 * events: connection, update and restart.
 */

import type { Command } from "./protocol/messages.js";

/** Why a command that is valid by its schema is refused. */
export interface Objection {
	readonly code: "busy" | "invalid_value" | "unknown_command";
	/** One sentence: what is wrong and what to do. */
	readonly message: string;
}

/** Undefined: the command is another component's. */
export type Answer = "executed" | Objection | undefined;

export interface Component {
	execute?(command: Command): Answer;
	/** @returns a sentence that says why no update, trial of settings or restart can begin now */
	findWork?(): string | undefined;
	onConnected?(): void;
	onDisconnected?(): void;
	/** The gateway has all messages, among them a report of this connection. */
	onDrained?(): void;
	/** An update begins, or has failed. */
	onUpdate?(isRunning: boolean): void;
	/** Called before a restart. Messages sent here still reach the gateway. */
	onRestart?(): void;
}

export function busy(message: string): Objection {
	return { code: "busy", message };
}
