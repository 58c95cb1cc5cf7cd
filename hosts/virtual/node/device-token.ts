/** The token that a device shows: DEVICE_TOKEN, else the one that the gateway on this computer made. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "../../../device/protocol/schema.js";

/** @throws Error that says how to come by one */
export function findDeviceToken(dataDir: string): string {
	// While a token is being replaced the gateway takes two, the new one first.
	const given = process.env.DEVICE_TOKEN?.split(",")[0];
	if (given) return given;
	const file = join(dataDir, "tokens.json");
	try {
		const tokens: unknown = JSON.parse(readFileSync(file, "utf8"));
		if (isRecord(tokens) && typeof tokens.device === "string") return tokens.device;
	} catch {
		// No gateway has run here, or not with this data folder: said below.
	}
	throw new Error(
		`there is no token for the device: set DEVICE_TOKEN, or start the gateway once (npm start), which makes ${file}`,
	);
}
