/** `GET /api/crashes`: the crashes of all devices by their cause, and how often each version crashes. */

import type { CrashKind } from "../../device/protocol/messages.js";

export interface CauseMoment {
	/** Of the firmware that crashed; null if unknown. */
	readonly version: string | null;
	readonly at: string;
}

export interface CrashCause {
	readonly id: string;
	readonly kind: CrashKind;
	/** With `#` for numbers, addresses and hexadecimal texts. */
	readonly message: string;
	/** At most 3 of this project, innermost first: `function (file)` or a file. */
	readonly frames: readonly string[];
	readonly count: number;
	readonly first: CauseMoment;
	readonly last: CauseMoment;
	/** At most 20, those with the most crashes first. */
	readonly versions: readonly {
		readonly version: string | null;
		readonly count: number;
		/** Crashes per hour in which a device was connected with this version; null: no such time is known. */
		readonly perHour: number | null;
	}[];
	/** Of the last 20 crashes of each device, as `samples`. */
	readonly deviceCount: number;
	/** The latest crash of at most 20 devices, the latest first. */
	readonly samples: readonly (CauseMoment & { readonly deviceId: string; readonly crashId: string })[];
	readonly seen: boolean;
}

export interface CrashVersion {
	readonly version: string;
	readonly count: number;
	/** Of all devices together, as far as gateways were there to see it. */
	readonly connectedHours: number;
	readonly perHour: number | null;
	readonly deviceCount: number;
	/** Null: it is not known to crash at least twice as often as an earlier one. */
	readonly worseThan: { readonly version: string; readonly atLeast: number } | null;
	readonly seen: boolean;
}

export interface CrashList {
	/** At most 500, the latest first. */
	readonly causes: readonly CrashCause[];
	/** At most 100, in no order. */
	readonly versions: readonly CrashVersion[];
	/** Of the last 20 crashes of each device, those of causes that are not listed. */
	readonly dropped: number;
}
