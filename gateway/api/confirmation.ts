/** Confirmation of commands by uplinks and connections, for the page and for commands to many devices. */

import type { Uplink } from "../../device/protocol/messages.js";
import { type ConfirmableCommand, commandEntries, isConfirmedBy } from "./commands.js";

/** Timeout of a confirmation; reports are sent after each change and every 5 s. */
const reportMs = 11_000;

/** Uplink of a device, or a change of its connection. */
export type DeviceEvent = Uplink | { readonly type: "connected" | "gone" };

/** Outcome of a command. */
export interface End {
	readonly state: "done" | "failed" | "unsupported";
	/** Reason of a failure; null: done. */
	readonly reason: string | null;
}

const done: End = Object.freeze({ state: "done", reason: null });

/** Returns the timeout of the confirmation. */
export function confirmationMs({ command }: ConfirmableCommand): number {
	return commandEntries[command].reconnects?.withinMs ?? reportMs;
}

/** Whether a device may disconnect before it confirms the command. */
export function endsConnection({ command }: ConfirmableCommand): boolean {
	return commandEntries[command].reconnects !== undefined;
}

/** Returns the outcome of a command after an event. @param passedMs since the command was sent @returns undefined: pending */
export function endOf(ask: ConfirmableCommand, event: DeviceEvent, passedMs: number): End | undefined {
	const { command } = ask;
	switch (event.type) {
		case "state_report":
			return isConfirmedBy(ask, event, passedMs) ? done : undefined;
		case "connected":
			return commandEntries[command].confirmedBy === "connection" ? done : undefined;
		case "command_error": {
			if (event.command !== command) return undefined;
			const isUnsupported = event.code === "unsupported" || event.code === "unknown_command";
			return { state: isUnsupported ? "unsupported" : "failed", reason: event.message };
		}
		case "gone":
			if (endsConnection(ask)) return undefined;
			return { state: "failed", reason: "The device disconnected before confirming the command." };
		default:
			return undefined;
	}
}

/** Returns the reason of a failure by timeout. */
export function unconfirmedReason({ command }: ConfirmableCommand): string {
	return commandEntries[command].reconnects?.otherwise ?? "The device did not confirm the command in time.";
}
