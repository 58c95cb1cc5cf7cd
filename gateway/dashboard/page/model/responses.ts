/** What the gateway answers to requests over HTTP, as types. */

import type { CrashKind } from "../../../../device/protocol/messages.js";
import type { Model } from "../../../../device/protocol/schema.js";
import type { OtaStatus } from "../../../api/statuses.js";

/** `GET /ota/status`. */
export interface UploadStatus {
	readonly filename: string | null;
	/** In bytes; 0 before the first upload. */
	readonly size: number;
	readonly upload_time: string | null;
	readonly sha256: string | null;
	readonly version: string | null;
	readonly model: Model | null;
	readonly chip: string | null;
	/** Whether firmware must be signed. */
	readonly signature_required: boolean;
}

export interface ReleaseImage {
	readonly model: Model;
	readonly path: string;
	/** In bytes. */
	readonly size: number;
	readonly sha256: string;
	readonly chip: string;
	readonly idf_version: string;
	/** What a new board needs beside it, and flash.json, which says where. */
	readonly flash?: readonly { readonly path: string }[];
}

export interface Release {
	readonly version: string;
	readonly date: string;
	readonly notes: string;
	readonly images: readonly ReleaseImage[];
}

/** `GET /ota/catalog`. */
export interface Catalog {
	readonly latest: string | null;
	readonly releases: readonly Release[];
}

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

/** `GET /ota/history`: one update of one device. */
export interface PastUpdate {
	readonly deviceId: string;
	readonly status: OtaStatus;
	readonly version?: string;
	readonly from?: string;
	readonly reason?: string;
	/** Milliseconds since 1970, by the gateway's clock; so is endedAt. */
	readonly startedAt: number;
	readonly endedAt?: number;
}

/** `GET /api/devices/<id>`, beside what a summary has. */
export interface DeviceDetails {
	/** ISO 8601, by the gateway's clock; so are all times here. */
	readonly firstSeenAt: string;
	/** The latest last, at most 10; so are resets. */
	readonly versions: readonly { readonly version: string; readonly at: string }[];
	readonly resets: readonly { readonly reason: string; readonly at: string }[];
	/** The latest last; so are crashes. */
	readonly updates: readonly OwnUpdate[];
	readonly crashes: readonly PastCrash[];
}

export interface OwnUpdate {
	readonly status: OtaStatus;
	readonly version: string | null;
	readonly from: string | null;
	readonly reason: string | null;
	readonly startedAt: string;
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
