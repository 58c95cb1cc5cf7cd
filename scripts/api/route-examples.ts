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

export const knownDeviceExample = {
	sessionId: "5f0c6b1e-8f58-4b0e-9a51-6a8d2f1f7c11",
	deviceId: "dev-1-a1b2c3",
	model: "DEV-1",
	connected: false,
	connectedAt: timestamp,
	lastSeenAt: timestamp,
	remoteAddress: "192.168.1.20",
	firmwareVersion: "1.4.0",
	metadata: { otaStatus: "updated", otaPercent: 100, otaVersion: "1.4.0", otaReason: null },
	chip: "esp32s3",
	firstSeenAt: timestamp,
} as const;

export const deviceExample = {
	...knownDeviceExample,
	versions: [{ version: "1.4.0", at: timestamp }],
	resets: [{ reason: "SW_RESET", at: timestamp }],
	updates: [
		{
			status: "updated",
			percent: 100,
			version: "1.4.0",
			from: "1.3.0",
			reason: null,
			startedAt: timestamp,
			endedAt: timestamp,
		},
	],
	state: null,
} as const;

export const updateExample = {
	deviceId: "dev-1-a1b2c3",
	status: "updated",
	percent: 100,
	version: "1.4.0",
	from: "1.3.0",
	startedAt: 1_795_176_000_000,
	endedAt: 1_795_176_060_000,
} as const;
