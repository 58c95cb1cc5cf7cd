/**
 * Which virtual device this is. Each has a folder `<data>/virtual/<device id>` with its flash, and a process that runs one
 * holds a lock there: two with one id would push each other off the gateway for ever.
 */

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Model } from "../../../device/protocol/schema.js";

export interface Identity {
	readonly deviceId: string;
	/** The last three bytes of the MAC, in hex. */
	readonly serial: string;
	readonly flashFile: string;
	/** Lets another process take this identity. */
	release(): void;
}

/** As the firmware makes it. @param serial the last three bytes of the MAC, in hex */
export function deviceIdOf(model: Model, serial: string): string {
	return `${model.toLowerCase()}-${serial}`;
}

/**
 * @param serial six hex digits; undefined: the first one that is free, the same on this computer each time
 * @throws Error where the given serial is in use, or the folder cannot be written
 */
export function claimIdentity(dataDir: string, model: Model, serial: string | undefined): Identity {
	if (serial !== undefined) {
		const identity = claim(dataDir, model, serial.toLowerCase());
		if (!identity)
			throw new Error(`a virtual ${model} with serial ${serial} runs already; choose another one`);
		return identity;
	}
	const first = createHash("sha256").update(`${hostname()} ${model}`).digest().readUIntBE(0, 3);
	for (let offset = 0; offset < 1000; offset++) {
		const next = ((first + offset) & 0xff_ff_ff).toString(16).padStart(6, "0");
		const identity = claim(dataDir, model, next);
		if (identity) return identity;
	}
	throw new Error(`a thousand virtual ${model} run already; give this one a --serial of its own`);
}

function claim(dataDir: string, model: Model, serial: string): Identity | undefined {
	const deviceId = deviceIdOf(model, serial);
	const folder = join(dataDir, "virtual", deviceId);
	const lock = join(folder, "pid");
	mkdirSync(folder, { recursive: true });
	if (isHeld(lock)) return undefined;
	rmSync(lock, { force: true });
	try {
		writeFileSync(lock, String(process.pid), { flag: "wx" });
	} catch {
		// Another process was quicker.
		return undefined;
	}
	// Of an earlier version; it may hold a token.
	rmSync(join(folder, "settings.json"), { force: true });
	return {
		deviceId,
		serial,
		flashFile: join(folder, "flash.bin"),
		release: () => rmSync(lock, { force: true }),
	};
}

function isHeld(lock: string): boolean {
	try {
		const pid = Number(readFileSync(lock, "utf8"));
		process.kill(pid, 0);
		return true;
	} catch {
		return false;
	}
}
