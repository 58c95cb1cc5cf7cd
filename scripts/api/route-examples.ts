/** Bodies as the gateway sends them. */

import type { Catalog } from "../../gateway/firmware/catalog.js";
import type { Upload } from "../../gateway/firmware/upload-store.js";
import { timestamp } from "./examples.js";
import type { JsonObject } from "./json-schema.js";

const sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

const upload: Required<Upload> = {
	filename: "firmware.bin",
	size: 1_048_576,
	upload_time: timestamp,
	sha256,
	version: "1.4.0",
	model: "DEV-1",
	chip: "esp32s3",
};
export const uploadExample: JsonObject = { ...upload };

const image = {
	model: "DEV-1",
	path: "/releases/dev-1/firmware-v1.4.0.bin",
	size: 1_048_576,
	sha256,
	chip: "esp32s3",
	idf_version: "v6.0",
} as const;

export const catalogExample = {
	schema: 1,
	latest: "1.4.0",
	releases: [{ version: "1.4.0", date: "2026-11-20", notes: "Quieter chimes.", images: [image] }],
} as const satisfies Catalog;
