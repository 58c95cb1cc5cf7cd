/** Volume of a device, whether it is muted, and commands that restore reported values. */

import type { Entry } from "../../../api/client/fleet.js";
import type { ConfirmableCommand } from "../../../api/commands.js";
import type { RequestedCommand } from "../model/pending-commands.js";

export interface DeviceVolume {
	readonly key: string;
	/** 0 to 100. While the device is muted, the volume that unmuting restores. */
	readonly volume: number;
	readonly isMuted: boolean;
	/** Older firmware cannot be muted, only set to volume 0. */
	readonly canMute: boolean;
}

/** @returns undefined before the first report */
export function volumeOf({ key, session, vitals }: Entry): DeviceVolume | undefined {
	const { volume, unmutedVolume } = vitals;
	if (volume === null) return undefined;
	return {
		key,
		volume: unmutedVolume ?? volume,
		isMuted: unmutedVolume !== undefined,
		canMute: session.features.includes("mute"),
	};
}

/** "Muted" or the volume; null before the first report. */
export function volumeText(entry: Entry): string | number | null {
	return volumeOf(entry)?.isMuted ? "Muted" : entry.vitals.volume;
}

/** Returns the volume that a pending command requests. */
export function requestedVolume(now: DeviceVolume, ask: RequestedCommand | undefined): DeviceVolume {
	if (ask?.command === "set_mute") return { ...now, isMuted: ask.value };
	if (ask?.command !== "set_volume") return now;
	return { ...now, isMuted: ask.value === 0, volume: ask.value || now.volume };
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
