/** Commands to many devices: their confirmations, and commands that restore the reported values. */

import type { Entry } from "../../../api/client/fleet.js";
import { capital, plural } from "../../../api/client/words.js";
import { type ConfirmableCommand, titleOf } from "../../../api/commands.js";
import { volumeOf } from "./mute.js";

/** "Volume of 12 devices set" */
export function doneText(ask: ConfirmableCommand, count: number): string {
	const devices = plural(count, "device");
	if (ask.command === "set_volume" && ask.value > 0) return `Volume of ${devices} set`;
	if (ask.command !== "set_volume" && ask.command !== "set_mute") return `${titleOf(ask)}: ${devices}`;
	return capital(`${devices} ${ask.value === false ? "unmuted" : "muted"}`);
}

/** Returns the commands that restore what a command replaces on a device; none for an action such as a restart. */
export function restoringCommands(
	entry: Entry,
	{ command }: ConfirmableCommand,
): readonly ConfirmableCommand[] {
	if (command === "set_led") {
		const { light, state_name: value = "rainbow" } = entry.state?.peripherals.led_ring ?? {};
		return [light ? { command: "set_light", value: light } : { command, value }];
	}
	const volume = volumeOf(entry);
	if ((command !== "set_volume" && command !== "set_mute") || !volume) return [];
	const mute = { command: "set_mute", value: volume.isMuted } as const;
	if (command === "set_mute") return [mute];
	const set = { command, value: volume.volume } as const;
	return volume.isMuted ? [set, mute] : [set];
}
