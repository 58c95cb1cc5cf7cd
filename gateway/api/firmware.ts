/** Firmware of a gateway: releases of `catalog.json`, the upload, and updates, as served under `/ota`. */

import { chips, imageId, sha256, signature } from "../../device/protocol/messages.js";
import {
	boolean,
	type Infer,
	integer,
	list,
	models,
	object,
	oneOf,
	optional,
	pattern,
	string,
} from "../../device/protocol/schema.js";
import { channelName } from "./channels.js";
import { everyone, monitors, viewers } from "./permissions.js";
import { binary, defineRoutes } from "./route.js";
import {
	array,
	closed,
	count,
	dateTime,
	described,
	type InferShape,
	nullable,
	text,
	typed,
} from "./shapes.js";
import { otaStatuses } from "./statuses.js";

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
/** File for flashing a release to a new board; `path` is the path of its URL. */
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
	/** Version of the release that the patch applies to. */
	from_version: string(64),
	/** SHA-256 of the image that the patch applies to. */
	from: sha256,
});
/** Patch from the image of an earlier release; `path` is the path of its URL. */
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
	/** `system.image` of a device that runs the image; absent: unknown. */
	image_id: optional(imageId),
	/** Anti-rollback version, default 0. Devices that run a higher one reject the image. */
	security_version: optional(integer(0, 65_535)),
	/** Absent: devices with release keys reject the image. */
	signature: optional(signature),
	/** Further files for a new board, and flash.json with their offsets. */
	flash: optional(list(releaseFile, 100)),
	/** Patches for devices that run an earlier release. */
	patches: optional(list(releasePatch, 3)),
});
/** Image of a release; `path` is the path of its URL. */
export type ReleaseImage = Infer<typeof releaseImage>;

export const release = object({
	version: string(64),
	/** Default: see `channelOf`. */
	channel: optional(channelName),
	date: string(64),
	notes: string(65_536),
	images: list(releaseImage, 100),
});
export type Release = Infer<typeof release>;

const catalog = closed({
	schema: integer(1, 1),
	latest: described(
		nullable(text),
		"highest version of the channel stable, without pre-releases; null if there is none",
	),
	releases: array(release),
});
export type Catalog = Omit<InferShape<typeof catalog>, "schema"> & { readonly schema: 1 };

const upload = closed({
	filename: nullable(text),
	size: described(count, "size in bytes; 0 before the first upload"),
	upload_time: nullable(dateTime),
	sha256: nullable(sha256),
	version: nullable(text),
	model: nullable(oneOf(...models)),
	chip: nullable(text),
	security_version: described(optional(integer(0, 65_535)), "absent: 0"),
	signature: nullable(text),
	signature_required: described(boolean(), "whether the gateway has RELEASE_KEYS"),
	problem: described(
		optional(text),
		"why the upload is neither offered nor served, such as a missing signature; absent: it is",
	),
});
export type UploadStatus = InferShape<typeof upload>;

const pastUpdate = closed({
	deviceId: text,
	status: oneOf(...otaStatuses),
	percent: optional(integer(0, 100)),
	version: optional(text),
	from: described(optional(text), "the previous version"),
	reason: described(optional(text), "reason of a failure or rollback"),
	startedAt: described(count, "milliseconds since 1970, as is endedAt"),
	endedAt: optional(count),
});
/** Past or current update of a device. */
export type PastUpdate = InferShape<typeof pastUpdate>;

const exampleSha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

export const firmwareRoutes = defineRoutes(null, {
	"POST /ota/upload": {
		summary: "Uploads a firmware image, which replaces the previous upload after validation",
		roles: monitors,
		body: {
			type: "raw",
			content: {
				"multipart/form-data": object({
					firmware: described({ type: "string" } as const, "the image, application/octet-stream"),
					signature: described(
						optional(text),
						"64 bytes in base64: r and s (IEEE P1363) of ECDSA P-256 over the SHA-256 of the image, without data after the end given by its " +
							"header; as text, or as the .sig file of a release. Required if the gateway has RELEASE_KEYS.",
					),
				}),
			},
		},
		status: 201,
		reply: upload,
		problems: {
			400: "The form has no file field `firmware`, the file is empty, or the form is incomplete.",
			413: "The image is larger than MAX_UPLOAD.",
			415: "The Content-Type is not multipart/form-data.",
			422: "The file is not an image for these devices, or lacks a valid signature; `detail` names the problem.",
			507: "The disk is full; the previous upload is unchanged. With several gateways 503 while NATS is unreachable.",
		},
	},
	"GET /ota/status": {
		summary: "Returns the latest upload; null fields and size 0 before the first one",
		roles: everyone,
		devices: true,
		reply: upload,
	},
	"GET /ota/catalog": {
		summary: "Lists the releases",
		roles: everyone,
		devices: true,
		reply: typed<Catalog>(catalog),
	},
	"GET /ota/history": {
		summary: "Lists the latest 200 updates of all devices, newest first",
		roles: everyone,
		reply: closed({ updates: array(pastUpdate) }),
	},
});

const image = binary("application/octet-stream", { isFile: true });
const fileHeaders = {
	ETag: text,
	"Last-Modified": text,
	"Repr-Digest": text,
	"Accept-Ranges": text,
	"Content-Digest": text,
};
const expectedSha256 = {
	...optional(sha256),
	description: "expected SHA-256 of the file; the URL of start_ota has that of the chosen image",
	example: exampleSha256,
};

/** Routes of images and patches, served by firmware/binaries.ts. */
export const binaryRoutes = defineRoutes(null, {
	"GET /ota/firmware.bin": {
		summary: "Downloads the latest upload, whole or in part",
		roles: viewers,
		devices: true,
		query: { sha256: expectedSha256 },
		reply: image,
		replyHeaders: fileHeaders,
		problems: {
			404: "There is no upload yet.",
			410: "The upload has another SHA-256, or may not be installed with the present RELEASE_KEYS and IMAGE_CHECK; `detail` has the reason.",
			503: "The file on disk is missing or was modified.",
		},
	},
	"GET /releases/:path": {
		summary: "Downloads an image of a release or another of its files, whole or in part",
		roles: viewers,
		devices: true,
		params: {
			path: {
				...text,
				description: "firmware-v<version>.bin, or a path of the catalog, including slashes",
				example: "firmware-v1.4.0.bin",
			},
		},
		query: {
			model: {
				...optional(text),
				description: "selects an image of a version, together with `chip`; required if there are several",
				example: "dev-1",
			},
			chip: { ...optional(text), example: "esp32s3" },
			sha256: expectedSha256,
		},
		reply: image,
		replyHeaders: fileHeaders,
		problems: {
			400: "The path is not a valid URL path.",
			404: "The catalog has no such file, or several images of this version; `detail` names the missing parameter.",
			410: "The file has another SHA-256.",
			503: "The file on disk does not match the catalog.",
		},
	},
});
