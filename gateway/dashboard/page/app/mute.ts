/** Volume of a device, and whether it is muted. */

import type { Entry } from "../../../api/client/fleet.js";
import type { RequestedCommand } from "../model/pending-commands.js";

export interface DeviceVolume {
	readonly key: string;
	/** 0 to 100. While the device is muted, the volume that unmuting restores. */
	readonly volume: number;
	readonly isMuted: boolean;
	/** Whether the firmware can be muted. */
	readonly hasMute: boolean;
}

/** @returns undefined before the first report */
export function volumeOf({ key, session, vitals }: Entry): DeviceVolume | undefined {
	const { volume, unmutedVolume } = vitals;
	if (volume === null) return undefined;
	const hasMute = session.features.includes("mute");
	return { key, volume: unmutedVolume ?? volume, isMuted: unmutedVolume !== undefined, hasMute };
}

export function isMuted(entry: Entry): boolean {
	return volumeOf(entry)?.isMuted === true;
}

/** "Muted" or the volume; null before the first report. */
export function volumeText(entry: Entry): string | number | null {
	return isMuted(entry) ? "Muted" : entry.vitals.volume;
}

/** Returns the volume that a pending command requests. */
export function requestedVolume(now: DeviceVolume, ask: RequestedCommand | undefined): DeviceVolume {
	if (ask?.command === "set_mute") return { ...now, isMuted: ask.value };
	if (ask?.command !== "set_volume") return now;
	return { ...now, isMuted: ask.value === 0, volume: ask.value || now.volume };
}
