/** What the gateway knows of a device beside its session: crashes, updates, restarts and its last 24 hours; and whom it has refused. */

import type { CrashKind } from "../../device/protocol/messages.js";
import type { Label } from "./label.js";
import type { DeviceSummary } from "./session.js";
import type { OtaStatus } from "./statuses.js";

/** `GET /api/devices/<id>`: one crash of that device. */
export interface PastCrash {
	readonly id: string;
	readonly kind: CrashKind;
	readonly message: string;
	/** Of the source, relative to the project; null if unknown. */
	readonly file: string | null;
	readonly line: number | null;
	/** Lines of functions or program counters; may be empty. */
	readonly stack: string;
	/** Of the firmware that crashed; null if unknown. */
	readonly version: string | null;
	readonly uptimeSeconds: number;
	/** The last lines that it traced. */
	readonly trace: string;
	/** When the gateway learnt of it: ISO 8601. */
	readonly at: string;
}

/** `GET /api/devices/<id>`, beside what a summary has. */
export interface DeviceDetails {
	/** ISO 8601, by the gateway's clock; so are all times here. */
	readonly firstSeenAt: string;
	/** When it last kept new settings; null: this gateway does not know of it. */
	readonly settingsKeptAt: string | null;
	/** The latest last, at most 10; so are resets. */
	readonly versions: readonly { readonly version: string; readonly at: string }[];
	readonly resets: readonly { readonly reason: string; readonly at: string }[];
	/** The latest last; so are crashes. */
	readonly updates: readonly OwnUpdate[];
	readonly crashes: readonly PastCrash[];
	/** The boards in whose place it is, the latest first; absent: this gateway replaces none. */
	readonly before?: readonly Before[];
}

/** A board in whose place a device is. */
export interface Before
	extends Label,
		Pick<DeviceSummary, "deviceId" | "model" | "firmwareVersion" | "firstSeenAt" | "lastSeenAt">,
		Partial<Omit<DeviceDetails, "before" | "firstSeenAt">> {
	/** The id of the board that has replaced it. */
	readonly by: string;
	readonly at: string;
	/** The name of the token of the person who has replaced it. */
	readonly who: string;
}

export interface OwnUpdate {
	readonly status: OtaStatus;
	/** 0 to 100; null before the download. */
	readonly percent: number | null;
	readonly version: string | null;
	readonly from: string | null;
	readonly reason: string | null;
	readonly startedAt: string;
	readonly endedAt: string | null;
}

/** The least and the most of each step; null where nothing was reported. */
export interface Extremes {
	readonly min: readonly (number | null)[];
	readonly max: readonly (number | null)[];
}

/** `GET /api/devices/<id>/history`: the last 24 hours in 288 steps, the latest last. */
export interface Past {
	/** When the first step begins: ISO 8601. */
	readonly from: string;
	readonly stepSeconds: number;
	/** dBm. */
	readonly rssi: Extremes;
	/** The least of each step, in bytes. */
	readonly heap: readonly (number | null)[];
	/** 0 to 4095; null for a model without a sensor. */
	readonly light: Extremes | null;
	/** In which share of the step it reported, 0 to 1; null before the gateway's start. */
	readonly presence: readonly (number | null)[];
	/** The latest last. */
	readonly marks: readonly PastMark[];
}

export interface PastMark {
	readonly at: string;
	readonly kind: "restart" | "crash" | "update";
	/** The reset reason, the kind of the crash, or the status of the update. */
	readonly reason: string;
	readonly version: string | null;
}

/** A refused device, dropped reports, a webhook that has ended, or a failed schedule: of `GET /api/refusals`, the newest first. */
export interface ListedRefusal {
	readonly id: string;
	readonly what: "connection" | "report" | "webhook" | "schedule";
	readonly deviceId: string | null;
	readonly remoteAddress: string;
	readonly reason: string;
	readonly count: number;
	/** ISO 8601, as lastAt. */
	readonly firstAt: string;
	readonly lastAt: string;
	readonly seen: boolean;
	/** The id of the board that has replaced it. */
	readonly replacedBy?: string;
}
