/** `npm run token`: prints the token of a single device, or manages tokens. A running gateway reloads them automatically. */

import fs from "node:fs/promises";
import { deviceId } from "../device/protocol/messages.js";
import { describeProblem, findProblem, matches } from "../device/protocol/schema.js";
import { deviceTokenOf } from "../gateway/access/secrets.js";
import { generateTokens, type Role, roles, Tokens } from "../gateway/access/tokens.js";
import { tokenName } from "../gateway/api/login.js";
import { personRoles } from "../gateway/api/person.js";
import { cleanText } from "../gateway/api/text.js";
import { readSettings } from "../gateway/settings.js";
import { strictDisk } from "../gateway/storage/atomic-file.js";
import { type Arguments, runCommand, UsageError } from "./command-line/command.js";
import { modelNames } from "./command-line/device-settings.js";
import { retire, rotate } from "./token/rotation.js";

const usage = `Usage: npm run token -- dev-1-7cdfa1a1b2c3        prints a token for this device only
       npm run token -- --any-id kitchen-1          the same for a custom device id
       npm run token -- --rotate [device|monitor]   creates a new token; the previous one stays valid
       npm run token -- --retire [device|monitor]   revokes the previous token
       npm run token -- --add viewer lobby-screen   creates a token for a person, as viewer, user or monitor
       npm run token -- --remove lobby-screen       revokes it, including its logins
       npm run token -- --new                       creates both tokens if tokens.json is lost

Without device or monitor, both tokens are replaced. They are stored in the data folder (DATA_DIR, default data), unless set by
DEVICE_TOKEN and MONITOR_TOKEN.`;

const options = {
	rotate: { type: "boolean" },
	retire: { type: "boolean" },
	add: { type: "string" },
	remove: { type: "string" },
	"any-id": { type: "boolean" },
	new: { type: "boolean" },
} as const;

/** Default device ids (device/main.ts). */
const ownId = new RegExp(`^(${modelNames.join("|")})-[0-9a-f]{12}$`);

await runCommand({ name: "token", usage, options, allowPositionals: true, run });

async function run({ values, positionals }: Arguments<typeof options>): Promise<void> {
	const [name] = positionals;
	if (positionals.length > 1) throw new UsageError("Specify one device or one token.");
	if (Object.keys(values).length > 1)
		throw new UsageError("--rotate, --retire, --add, --remove, --new and --any-id cannot be combined.");
	if (values.add !== undefined) return add(values.add, name);
	if (values.remove !== undefined) return remove(cleanText(values.remove));
	if (values.new) return makeNew();
	if (values.rotate || values.retire) return change(values.rotate ? rotate : retire, name);
	if (!matches(deviceId, name))
		throw new UsageError(name ? `"${name}" is not a device id.` : "Specify a device id.");
	if (!values["any-id"] && !ownId.test(name))
		throw new UsageError(
			`"${name}" is not a default device id, which consists of the model and the MAC address, such as dev-1-7cdfa1a1b2c3. Use --any-id for a custom id.`,
		);
	const tokens = await openTokens();
	console.log(deviceTokenOf(tokens.current("device"), name));
}

async function change(by: typeof rotate, name: string | undefined): Promise<void> {
	const which = roles.filter((role) => name === undefined || role === name);
	if (which.length === 0) throw new UsageError(`Unknown token "${name}". Use device or monitor.`);
	for (const role of which) requireStoredToken(role);
	const tokens = await openTokens();
	await tokens.change((file = generateTokens()) => by(file, which));
	console.log(`Updated the ${which.join(" and the ")} token in ${tokens.path}.`);
}

async function add(requestedRole: string, typed = ""): Promise<void> {
	const name = cleanText(typed);
	const role = personRoles.find((known) => known === requestedRole);
	if (!role)
		throw new UsageError(
			`--add requires the role ${new Intl.ListFormat("en", { type: "disjunction" }).format(personRoles)}, not "${requestedRole}".`,
		);
	const problem = findProblem(tokenName, name);
	if (problem) throw new UsageError(`${describeProblem({ ...problem, path: "The name" })}.`);
	console.log(await (await openTokens()).add(name, role));
}

async function remove(name: string): Promise<void> {
	await (await openTokens()).remove(name);
	console.log(`Token ${name} revoked.`);
}

async function makeNew(): Promise<void> {
	const tokens = createTokens();
	await tokens.change((file) => {
		if (file) throw new UsageError(`${tokens.path} already exists. Use --rotate to replace its tokens.`);
		return generateTokens();
	});
	console.log(`Created ${tokens.path}. Distribute the new tokens to all devices and people.`);
}

/** @throws Error if an environment variable sets the token */
function requireStoredToken(role: Role): void {
	const variable = `${role.toUpperCase()}_TOKEN`;
	if (process.env[variable]?.trim())
		throw new Error(
			`${variable} is set. Change it to the new token, a comma and the old token, and restart the gateway.`,
		);
}

async function openTokens(): Promise<Tokens> {
	const tokens = createTokens();
	const isMade = !tokens.areFromEnvironment && !(await tokens.readFile());
	await tokens.open();
	if (isMade)
		console.error(`Created ${tokens.path}. Only a gateway that uses this folder accepts its tokens.`);
	return tokens;
}

function createTokens(): Tokens {
	const { dataDir, deviceToken, monitorToken } = readSettings(process.env);
	const fromEnvironment = { device: deviceToken, monitor: monitorToken };
	return new Tokens({ dataDir, fromEnvironment, disk: strictDisk(fs), onProblem: console.error });
}
