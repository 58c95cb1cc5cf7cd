/**
 * A component is what can be left out of the firmware: a file or folder, and its line in main.ts. It says once which
 * commands it executes, and what it does when the link, an update or a restart begins or ends.
 */

import type { Command } from "./protocol/messages.js";

/** Why a command that is valid by its schema is refused. */
export interface Objection {
	readonly code: "busy" | "invalid_value" | "unknown_command";
	/** One sentence that says what to change. */
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
	/** The device restarts once what is sent now has left. */
	onRestart?(): void;
}

export function busy(message: string): Objection {
	return { code: "busy", message };
}
