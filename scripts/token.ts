/** `npm run token`: prints the token of a single device, or manages tokens. A running gateway reloads them automatically. */

import fs from "node:fs/promises";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { deviceId } from "../device/protocol/messages.js";
import { describeProblem, findProblem, matches } from "../device/protocol/schema.js";
import { deviceTokenOf } from "../gateway/access/secrets.js";
import {
	makeTokens,
	type Role,
	readTokenFile,
	roles,
	Tokens,
	tokenPath,
	writeTokenFile,
} from "../gateway/access/tokens.js";
import { tokenName } from "../gateway/api/login.js";
import { personRoles } from "../gateway/api/person.js";
import { readSettings } from "../gateway/settings.js";
import { makeFolder, strictDisk } from "../gateway/storage/atomic-file.js";
import { runCommand, UsageError } from "./command-line/command.js";
import { modelNames } from "./command-line/device-settings.js";
import { retire, rotate } from "./token/rotation.js";

const disk = strictDisk(fs);

const usage = `Usage: npm run token -- dev-1-a1b2c3              prints a token that only this device can use
       npm run token -- --any-id kitchen-1          the same, for firmware that does not name itself by model and MAC address
       npm run token -- --rotate [device|monitor]   makes a new token; the previous one stays valid
       npm run token -- --retire [device|monitor]   ends the previous token
       npm run token -- --add viewer lobby-screen   makes a token with a name: a viewer looks, a user plays, a monitor does all
       npm run token -- --remove lobby-screen       ends it, and logins with it
       npm run token -- --new                       makes both tokens where tokens.json is lost for good

Without device or monitor, both tokens are replaced. They are those in the data folder (DATA_DIR, or data), or DEVICE_TOKEN
and MONITOR_TOKEN.`;

const options = {
	rotate: { type: "boolean" },
	retire: { type: "boolean" },
	add: { type: "string" },
	remove: { type: "string" },
	"any-id": { type: "boolean" },
	new: { type: "boolean" },
} as const;

/** Default device ids (device/main.ts). */
const ownId = new RegExp(`^(${modelNames.join("|")})-[0-9a-f]{6}$`);

await runCommand({ name: "token", usage, options: Object.keys(options), run });

async function run(words: readonly string[]): Promise<void> {
	const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
	const [name] = positionals;
	if (positionals.length > 1) throw new UsageError("One device, or one of the two tokens, at a time.");
	if (Object.keys(values).length > 1)
		throw new UsageError("--rotate, --retire, --add, --remove, --new and --any-id exclude each other.");
	if (values.add !== undefined) return add(values.add, name);
	if (values.remove !== undefined) return remove(values.remove);
	if (values.new) return makeNew();
	if (values.rotate || values.retire) return change(values.rotate ? rotate : retire, name);
	if (!matches(deviceId, name))
		throw new UsageError(name ? `"${name}" is not a device id.` : "The device id is missing.");
	if (!values["any-id"] && !ownId.test(name))
		throw new UsageError(
			`No device is called "${name}": its id is its model and the last six digits of its MAC address, such as dev-1-a1b2c3. With --any-id it may be another one.`,
		);
	const tokens = await openTokens();
	console.log(deviceTokenOf(tokens.current("device"), name));
}

async function change(by: typeof rotate, name: string | undefined): Promise<void> {
	const which = roles.filter((role) => name === undefined || role === name);
	if (which.length === 0) throw new UsageError(`There is no "${name}" token: it is device or monitor.`);
	for (const role of which) refuseGiven(role);
	await openTokens();
	const path = tokenPath(readSettings(process.env).dataDir);
	const file = await readTokenFile(disk, path);
	if (!file) throw new Error(`${path} is missing.`);
	await writeTokenFile(disk, path, by(file, which));
	console.log(`${path} holds the ${which.join(" and the ")} token in use.`);
}

async function add(asked: string, name: string | undefined): Promise<void> {
	const role = personRoles.find((each) => each === asked);
	if (!role)
		throw new UsageError(
			`--add makes a token for a ${new Intl.ListFormat("en", { type: "disjunction" }).format(personRoles)}, not for "${asked}".`,
		);
	const problem = findProblem(tokenName, name);
	if (problem || name === undefined)
		throw new UsageError(`${describeProblem({ expected: "", ...problem, path: "The name" })}.`);
	console.log(await (await openTokens()).add(name, role));
}

async function remove(name: string): Promise<void> {
	await (await openTokens()).remove(name);
	console.log(`The token ${name} is not valid any more.`);
}

async function makeNew(): Promise<void> {
	const path = tokenPath(readSettings(process.env).dataDir);
	if (await readTokenFile(disk, path))
		throw new UsageError(`${path} is there: --rotate replaces its tokens.`);
	await makeFolder(disk, dirname(path));
	await writeTokenFile(disk, path, makeTokens());
	console.log(`${path} holds new tokens: give them to each device and person.`);
}

/** @throws Error where an environment variable sets the token */
function refuseGiven(role: Role): void {
	const variable = `${role.toUpperCase()}_TOKEN`;
	if (process.env[variable]?.trim())
		throw new Error(
			`${variable} is set: put a new token before the old one there, with a comma between, and restart the gateway.`,
		);
}

async function openTokens(): Promise<Tokens> {
	const { dataDir, deviceToken, monitorToken } = readSettings(process.env);
	const given = { device: deviceToken, monitor: monitorToken };
	const tokens = new Tokens({ dataDir, given, disk, onProblem: console.error });
	const path = tokenPath(dataDir);
	const isMade = !tokens.areGiven && !(await tokens.readFile());
	await tokens.open();
	if (isMade)
		console.error(`${path} was made: only a gateway that is started with this folder accepts its tokens.`);
	return tokens;
}
