/**
 * Identity of a virtual device on this computer: a folder `<data>/virtual/<device id>` with its flash and a lock. Two processes with the
 * same identity would keep disconnecting each other from the gateway.
 */

import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { idOf } from "../../../device/protocol/models.js";
import type { Model } from "../../../device/protocol/schema.js";
import { acquireLock } from "./process-lock.js";

export interface IdentityOptions {
	readonly dataDir: string;
	readonly model: Model;
	/** Six hexadecimal digits. Default: the first free serial of a sequence specific to this computer. */
	readonly serial?: string | undefined;
}

/** @param serial its last three bytes in hexadecimal */
export function macAddressOf(serial: string): string {
	// 02 marks a locally administered address (IEEE 802, 8.4).
	return `02:00:00:${serial.match(/../g)?.join(":")}`;
}

export interface Identity {
	readonly deviceId: string;
	readonly serial: string;
	readonly flashFile: string;
	/** Releases the identity. */
	readonly close: () => void;
}

/** @throws Error if the given serial is in use or the folder is not writable */
export function claimIdentity({ dataDir, model, serial }: IdentityOptions): Identity {
	if (serial !== undefined) {
		const identity = tryClaim(dataDir, model, serial.toLowerCase());
		if (identity) return identity;
		throw new Error(`A virtual ${model} with serial ${serial} is already running. Choose another --serial.`);
	}
	const first = createHash("sha256").update(`${hostname()} ${model}`).digest().readUIntBE(0, 3);
	for (let offset = 0; offset < 1000; offset++) {
		const next = ((first + offset) & 0xff_ff_ff).toString(16).padStart(6, "0");
		const identity = tryClaim(dataDir, model, next);
		if (identity) return identity;
	}
	throw new Error(`1,000 virtual ${model} devices are already running. Choose a free --serial.`);
}

function tryClaim(dataDir: string, model: Model, serial: string): Identity | undefined {
	const deviceId = idOf(model, macAddressOf(serial));
	const folder = join(dataDir, "virtual", deviceId);
	mkdirSync(folder, { recursive: true, mode: 0o700 });
	const close = acquireLock(join(folder, "pid"));
	return close && { deviceId, serial, flashFile: join(folder, "flash.bin"), close };
}
