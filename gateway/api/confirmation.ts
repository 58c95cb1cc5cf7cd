/** Confirmation of commands by uplinks and connections, for the page and for commands to many devices. */

import type { Uplink } from "../../device/protocol/messages.js";
import { type Ask, commandEntries, isConfirmedBy } from "./commands.js";

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

/** How long a device has to confirm it. */
export function confirmationMs({ command }: Ask): number {
	return commandEntries[command].reconnects?.withinMs ?? reportMs;
}

/** Whether a device may disconnect before it has confirmed it. */
export function endsConnection({ command }: Ask): boolean {
	return commandEntries[command].reconnects !== undefined;
}

/** Whether an event ends it. @param passedMs since it was asked @returns undefined: it goes on */
export function endOf(ask: Ask, event: DeviceEvent, passedMs: number): End | undefined {
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
			return { state: "failed", reason: "The device disconnected before it confirmed it." };
		default:
			return undefined;
	}
}

/** Why it has failed, if the device does not confirm it. */
export function unconfirmed({ command }: Ask): string {
	return commandEntries[command].reconnects?.otherwise ?? "The device did not confirm it in time.";
}
