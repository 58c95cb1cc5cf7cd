/** The public keys that are compiled into a firmware: those of RELEASE_KEYS, the variable of the gateway, too. */

import type { ReleaseKeys } from "../../gateway/firmware/release-keys.js";
import { readSettings } from "../../gateway/settings.js";

/** Those of RELEASE_KEYS. @throws StartError */
export function givenReleaseKeys(): ReleaseKeys {
	return readSettings({ RELEASE_KEYS: process.env.RELEASE_KEYS }).releaseKeys;
}

/** @returns those of RELEASE_KEYS as `formatReleaseKeys` does. @throws StartError */
export function builtInReleaseKeys(): string {
	return formatReleaseKeys(givenReleaseKeys());
}

/** @returns as `readReleaseKeys` of device/update/signature.ts takes them; empty: none */
export function formatReleaseKeys(keys: ReleaseKeys): string {
	const hex = (value: bigint) => value.toString(16).padStart(64, "0");
	return keys.map(({ x, y }) => hex(x) + hex(y)).join(",");
}
