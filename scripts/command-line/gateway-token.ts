/** Finds a gateway token in the environment or in the data folder of the gateway on this computer. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseTokens } from "../../gateway/access/tokens.js";
import { readSettings } from "../../gateway/settings.js";

/** @throws Error without a token */
export function findGatewayToken(role: "device" | "monitor"): string {
	const variable = `${role.toUpperCase()}_TOKEN`;
	const { DATA_DIR, [variable]: text } = process.env;
	const { dataDir, deviceToken, monitorToken } = readSettings({ DATA_DIR, [variable]: text });
	// During a rotation there are two tokens, the new one first.
	const token = (deviceToken ?? monitorToken)?.split(",")[0];
	if (token) return token;
	const file = join(dataDir, "tokens.json");
	try {
		const token = parseTokens(readFileSync(file, "utf8"))?.[role];
		if (token !== undefined) return token;
	} catch {
		// No gateway was started with this data folder.
	}
	throw new Error(
		`No ${role} token found. Set ${variable}, or set DATA_DIR to the data folder of a gateway, or start one (npm start), which creates ${file}.`,
	);
}
