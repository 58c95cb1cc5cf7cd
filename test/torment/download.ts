/** Image download of a scripted device: from the given address, with its token, verified. */

import { setTimeout as pause } from "node:timers/promises";
import { sha256Of } from "../support/bytes.js";
import { bearer, deviceToken } from "../support/gateway-settings.js";
import type { Images } from "./images.js";
import type { Journal } from "./journal.js";
import type { DeviceRecord } from "./ledger.js";

const downloadMs = 4000;
const tries = 4;
const retryMs = 300;

export interface DownloadOptions {
	readonly images: Images;
	readonly journal: Journal;
	/** Whether the device has restarted since. */
	readonly isOver: () => boolean;
}

/** @returns version of the image; undefined: no image, or none for this device */
export async function download(
	url: string,
	{ deviceId, model }: DeviceRecord,
	{ images, journal, isOver }: DownloadOptions,
): Promise<string | undefined> {
	for (let attempt = 0; attempt < tries && !isOver(); attempt += 1) {
		const got = await get(url);
		if (got === "rejected") return undefined;
		if (got !== undefined) {
			const image = images.find(got.bytes);
			const sha256 = sha256Of(got.bytes);
			if (!image || got.etag !== `"${sha256}"`)
				journal.break(`${deviceId} was sent ${got.bytes.length} bytes at ${url} that are no firmware`);
			return image?.model === model ? image.version : undefined;
		}
		await pause(retryMs);
	}
	return undefined;
}

/** @returns undefined if it may be retried */
async function get(url: string) {
	try {
		const signal = AbortSignal.timeout(downloadMs);
		const response = await fetch(url, { headers: bearer(deviceToken), signal });
		const bytes = Buffer.from(await response.arrayBuffer());
		if (response.status >= 400 && response.status < 500) return "rejected";
		return response.status === 200 ? { bytes, etag: response.headers.get("ETag") } : undefined;
	} catch {
		return undefined;
	}
}
