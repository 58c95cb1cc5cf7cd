/**
 * `npm run token`: prints the token of a single device, or replaces a token without a moment in which none works.
 * A gateway that runs takes the change in by itself.
 */

import disk from "node:fs/promises";
import { parseArgs } from "node:util";
import { deviceId } from "../device/protocol/messages.js";
import { matches } from "../device/protocol/schema.js";
import { deviceTokenOf } from "../gateway/access/secrets.js";
import { type Role, readTokenFile, roles, tokenPath, writeTokenFile } from "../gateway/access/token-file.js";
import { Tokens } from "../gateway/access/tokens.js";
import { readSettings } from "../gateway/settings.js";
import { StartError } from "../gateway/start-error.js";
import { retire, rotate } from "./token/rotation.js";

const usage = `npm run token -- dev-1-a1b2c3             prints a token that only this device can use
npm run token -- --rotate [device|monitor]  makes a new token; the former one stays valid
npm run token -- --retire [device|monitor]  ends the former one
The tokens are those in DATA_DIR (data), or DEVICE_TOKEN and MONITOR_TOKEN.`;

try {
	await run(process.argv.slice(2));
} catch (error) {
	if (!(error instanceof StartError)) throw error;
	console.error(error.message);
	process.exitCode = 1;
}

async function run(words: readonly string[]): Promise<void> {
	const { values, positionals } = parse(words);
	const [name] = positionals;
	if (positionals.length > 1 || (values.rotate && values.retire)) throw new StartError(usage);
	if (values.rotate || values.retire) return change(values.rotate ? rotate : retire, name);
	if (!matches(deviceId, name)) throw new StartError(usage);
	const tokens = await openTokens();
	console.log(deviceTokenOf(tokens.current("device"), name));
}

function parse(words: readonly string[]) {
	try {
		const options = { rotate: { type: "boolean" }, retire: { type: "boolean" } } as const;
		return parseArgs({ args: [...words], options, allowPositionals: true });
	} catch {
		throw new StartError(usage);
	}
}

async function change(by: typeof rotate, name: string | undefined): Promise<void> {
	const which = roles.filter((role) => name === undefined || role === name);
	if (which.length === 0) throw new StartError(usage);
	for (const role of which) refuseGiven(role);
	await openTokens();
	const path = tokenPath(readSettings(process.env).dataDir);
	const file = await readTokenFile(disk, path);
	if (!file) throw new StartError(`${path} is not there.`);
	await writeTokenFile(disk, path, by(file, which));
	console.log(`${path} holds the ${which.join(" and the ")} token in use.`);
}

function refuseGiven(role: Role): void {
	const variable = `${role.toUpperCase()}_TOKEN`;
	if (process.env[variable])
		throw new StartError(
			`${variable} is set: put a new token before the old one there, with a comma between, and restart the gateway.`,
		);
}

async function openTokens(): Promise<Tokens> {
	const { dataDir, deviceToken, monitorToken } = readSettings(process.env);
	const given = { device: deviceToken, monitor: monitorToken };
	const tokens = new Tokens({ dataDir, given, disk, onProblem: console.error });
	await tokens.open();
	return tokens;
}
