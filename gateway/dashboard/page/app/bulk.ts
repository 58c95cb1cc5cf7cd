/** Commands that restore reported values. */

import type { Entry } from "../../../api/client/fleet.js";
import type { ConfirmableCommand } from "../../../api/commands.js";
import { muteCommand, volumeOf } from "./mute.js";

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
	const mute = muteCommand(volume, volume.isMuted);
	if (command === "set_mute" || (volume.isMuted && !volume.hasMute)) return [mute];
	const set = { command, value: volume.volume } as const;
	return volume.isMuted ? [set, mute] : [set];
}
