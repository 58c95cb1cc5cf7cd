/** Public keys for the firmware, from RELEASE_KEYS. */

import type { ReleaseKeys } from "../../gateway/firmware/release-keys.js";
import { readSettings } from "../../gateway/settings.js";

/** @throws StartError */
export function givenReleaseKeys(): ReleaseKeys {
	return readSettings({ RELEASE_KEYS: process.env.RELEASE_KEYS }).releaseKeys;
}

/** @returns keys formatted by `formatReleaseKeys` @throws StartError */
export function builtInReleaseKeys(): string {
	return formatReleaseKeys(givenReleaseKeys());
}

/** Formats keys for `readReleaseKeys` of device/update/signature.ts; empty without keys. */
export function formatReleaseKeys(keys: ReleaseKeys): string {
	const hex = (value: bigint) => value.toString(16).padStart(64, "0");
	return keys.map(({ x, y }) => hex(x) + hex(y)).join(",");
}
