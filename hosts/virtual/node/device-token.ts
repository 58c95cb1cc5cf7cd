import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "../../../device/protocol/schema.js";

/**
 * DEVICE_TOKEN, else the token of the gateway on this computer.
 *
 * @throws Error that says how to get one
 */
export function findDeviceToken(dataDir: string): string {
	// During a token rotation there are two, the new one first.
	const given = process.env.DEVICE_TOKEN?.split(",")[0];
	if (given) return given;
	const file = join(dataDir, "tokens.json");
	try {
		const tokens: unknown = JSON.parse(readFileSync(file, "utf8"));
		if (isRecord(tokens) && typeof tokens.device === "string") return tokens.device;
	} catch {
		// No gateway has run with this data folder.
	}
	throw new Error(
		`there is no token for the device: set DEVICE_TOKEN, or start the gateway once (npm start), which makes ${file}`,
	);
}
