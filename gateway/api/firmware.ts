/** The firmware that a gateway offers: releases as `catalog.json` has them, the upload, and updates, as `/ota` answers. */

import { chips, sha256, signature } from "../../device/protocol/messages.js";
import {
	type Infer,
	integer,
	list,
	type Model,
	models,
	object,
	oneOf,
	optional,
	pattern,
	string,
} from "../../device/protocol/schema.js";
import { channelName } from "./channels.js";
import type { OtaStatus } from "./statuses.js";

const releaseFile = object({
	path: pattern(
		255,
		"^/releases/([A-Za-z0-9][A-Za-z0-9_-]*/)*flash-v[0-9A-Za-z.+-]+/[a-z][a-z_-]*\\.(bin|json)$",
		"/releases/<folder>/flash-v<version>/<name>.bin",
	),
	/** In bytes. */
	size: integer(1, Number.MAX_SAFE_INTEGER),
	sha256,
});
/** A file for installing a release on a new board; `path` is that of its URL. */
export type ReleaseFile = Infer<typeof releaseFile>;

const releasePatch = object({
	path: pattern(
		255,
		"^/releases/([A-Za-z0-9][A-Za-z0-9_-]*/)*firmware-v[0-9A-Za-z.+-]+\\.from-v[0-9A-Za-z.+-]+\\.patch$",
		"/releases/<folder>/firmware-v<version>.from-v<version>.patch",
	),
	/** In bytes. */
	size: integer(1, Number.MAX_SAFE_INTEGER),
	sha256,
	/** The release whose image it changes. */
	from_version: string(64),
	/** SHA-256 of that image. */
	from: sha256,
});
/** Makes an image from that of an earlier release; `path` is that of its URL. */
export type ReleasePatch = Infer<typeof releasePatch>;

const releaseImage = object({
	model: oneOf(...models),
	path: pattern(
		255,
		"^/releases/([A-Za-z0-9][A-Za-z0-9_-]*/)*firmware-v[0-9A-Za-z.+-]+\\.bin$",
		"/releases/<folder>/firmware-v<version>.bin",
	),
	/** In bytes. */
	size: integer(1, Number.MAX_SAFE_INTEGER),
	sha256,
	chip: oneOf(...chips),
	idf_version: string(64),
	/** Absent: 0. A device that runs a higher one does not take the image. */
	security_version: optional(integer(0, 65_535)),
	/** Absent: devices with release keys do not take the image. */
	signature: optional(signature),
	/** What a new board needs beside it, and flash.json, which says where. */
	flash: optional(list(releaseFile, 100)),
	/** For devices that run an earlier release. */
	patches: optional(list(releasePatch, 3)),
});
/** An image of a release; `path` is that of its URL. */
export type ReleaseImage = Infer<typeof releaseImage>;

export const release = object({
	version: string(64),
	/** Absent: `channelOf` says. */
	channel: optional(channelName),
	date: string(64),
	notes: string(65_536),
	images: list(releaseImage, 100),
});
export type Release = Infer<typeof release>;

/** `GET /ota/catalog`. */
export interface Catalog {
	readonly schema: 1;
	/** The highest version of the channel stable that is not a pre-release; null if there is none. */
	readonly latest: string | null;
	readonly releases: readonly Release[];
}

/** `GET /ota/status`: every field, null where it is not known. */
export interface UploadStatus {
	readonly filename: string | null;
	/** In bytes; 0 before the first upload. */
	readonly size: number;
	readonly upload_time: string | null;
	readonly sha256: string | null;
	readonly version: string | null;
	readonly model: Model | null;
	readonly chip: string | null;
	readonly signature: string | null;
	/** Whether firmware must be signed. */
	readonly signature_required: boolean;
}

/** `GET /ota/history`: one update of one device. */
export interface PastUpdate {
	readonly deviceId: string;
	readonly status: OtaStatus;
	readonly version?: string;
	readonly from?: string;
	readonly reason?: string;
	/** Milliseconds since 1970; so is endedAt. */
	readonly startedAt: number;
	readonly endedAt?: number;
}
