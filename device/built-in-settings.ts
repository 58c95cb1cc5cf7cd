/** Settings compiled into the image. */

import config from "mc/config";
import { attempt } from "./attempt.js";
import type { KeyValueStore } from "./host.js";
import { type InstalledSetting, installedSettings } from "./protocol/messages.js";

/** Key of the fingerprint of the built-in settings stored last. */
const builtInKey = "built_in";

/**
 * Stores the settings given on mcconfig's command line, once per image: the next image lacks them, and set_settings
 * overrides them. Must run before the store is read. Settings that were not given are empty strings in the manifest.
 * @param buildTime of the image, in seconds since 1970
 */
export function storeBuiltInSettings(store: KeyValueStore, buildTime: number): void {
	const values: [InstalledSetting, string][] = [];
	for (const name of installedSettings) {
		const value: unknown = config[name];
		if (value !== undefined && value !== "") values.push([name, String(value)]);
	}
	if (values.length === 0) return;
	const mark = fingerprint(`${buildTime} ${JSON.stringify(values)}`);
	attempt("settings: built-in settings could not be stored", () => {
		if (store.read(builtInKey) === mark) return;
		for (const [name, value] of values) store.write(name, value);
		// Written last: after a power cut all are written again.
		store.write(builtInKey, mark);
	});
}

/** FNV-1a, 32 bits. */
function fingerprint(text: string): string {
	let hash = 0x811c9dc5;
	for (const byte of new Uint8Array(ArrayBuffer.fromString(text)))
		hash = Math.imul(hash ^ byte, 0x0100_0193) >>> 0;
	return hash.toString(16);
}
