/** Volume of a device, whether it is muted, and commands that restore reported values. */

import type { Entry } from "../../../api/client/fleet.js";
import type { ConfirmableCommand } from "../../../api/commands.js";
import type { RequestedCommand } from "../model/pending-commands.js";

export interface DeviceVolume {
	readonly key: string;
	/** 0 to 100. While the device is muted, the volume that unmuting restores; 0 if unknown. */
	readonly volume: number;
	readonly isMuted: boolean;
	/** Whether the firmware restores the volume itself. Otherwise this tab does. */
	readonly hasMute: boolean;
}

/** Volume after unmuting if the previous one is unknown. */
const usualVolume = 50;

/** @returns undefined before the first report */
export function volumeOf({ key, session, vitals }: Entry): DeviceVolume | undefined {
	const { volume, unmutedVolume } = vitals;
	if (volume === null) return undefined;
	const hasMute = session.features.includes("mute");
	const isMuted = unmutedVolume !== undefined || (volume === 0 && !hasMute);
	const remembered = isMuted ? Number(sessionStorage.getItem(storageKey(key))) : volume;
	return { key, volume: unmutedVolume ?? remembered, isMuted, hasMute };
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

/** Mutes or unmutes a device. For older firmware the tab remembers the volume, as pages are reloaded in the background on phones. */
export function muteCommand({ key, volume, hasMute }: DeviceVolume, isMuted: boolean): ConfirmableCommand {
	if (hasMute) return { command: "set_mute", value: isMuted };
	if (isMuted) sessionStorage.setItem(storageKey(key), `${volume}`);
	return { command: "set_volume", value: isMuted ? 0 : volume || usualVolume };
}

function storageKey(key: string): string {
	return `volume ${key}`;
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
	const mute = muteCommand(volume, volume.isMuted);
	if (command === "set_mute" || (volume.isMuted && !volume.hasMute)) return [mute];
	const set = { command, value: volume.volume } as const;
	return volume.isMuted ? [set, mute] : [set];
}
