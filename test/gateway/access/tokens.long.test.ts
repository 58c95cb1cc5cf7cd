import assert from "node:assert/strict";
import disk, { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { deviceTokenOf } from "../../../gateway/access/secrets.js";
import { readTokenFile, tokenPath } from "../../../gateway/access/tokens.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { runCommand } from "../../support/command-line.js";
import { deviceToken } from "../../support/running.js";

test("npm run token prints its usage for invalid words, and changes nothing", async (t) => {
	for (const line of ["", "--turn", "a b", "../a", "--rotate page", "--rotate --retire"]) {
		const dataDir = await temporaryDirectory(t);
		const command = runCommand(t, "scripts/token.ts", line.match(/\S+/g) ?? [], { DATA_DIR: dataDir });
		assert.equal(await command.exitCode, 1, line);
		assert.match(command.output(), /^Usage: npm run token -- dev-1-7cdfa1a1b2c3/m);
		assert.deepEqual(await readdir(dataDir), []);
	}
});

test("npm run token adds, rotates, retires and removes tokens, and creates lost ones on request", async (t) => {
	const DATA_DIR = await temporaryDirectory(t);
	const DEVICE_TOKEN = deviceToken;
	const run = async (code: number, expected: RegExp, environment: object, ...words: readonly string[]) => {
		const command = runCommand(t, "scripts/token.ts", words, { DATA_DIR, ...environment });
		assert.equal(await command.exitCode, code, command.output());
		assert.match(command.output(), expected);
	};
	await mkdir(join(DATA_DIR, "devices"));
	await writeFile(join(DATA_DIR, "devices", "dev-1-a1b2c3.json"), "");
	await run(1, /is missing, but .* is not empty/, {}, "dev-1-7cdfa1a1b2c3");
	await run(0, /^Created .*tokens\.json/, {}, "--new");
	await run(1, /already exists\. Use --rotate/, {}, "--new");
	const { device = "" } = (await readTokenFile(disk, tokenPath(DATA_DIR))) ?? {};
	const printed = new RegExp(`^${deviceTokenOf(device, "dev-1-7cdfa1a1b2c3")}\\s*$`);
	await run(0, printed, {}, "dev-1-7cdfa1a1b2c3");
	assert.doesNotMatch(await disk.readFile(tokenPath(DATA_DIR), "utf8"), /dev-1/);
	await run(0, /^[\w-]{40,}\s*$/, {}, "--add", "viewer", "hall");
	await run(0, /revoked/, {}, "--remove", "hall");
	await run(0, /^Updated the monitor token/, {}, "--rotate", "monitor");
	await run(1, /^The previous monitor token is still valid/, {}, "--rotate");
	await run(0, /^Updated the device and the monitor token/, {}, "--retire");
	await run(1, /^DEVICE_TOKEN is set\. Change it to the new token/, { DEVICE_TOKEN }, "--rotate", "device");
	await run(1, /^"kitchen" is not a default device id/, {}, "kitchen");
	const own = new RegExp(`^${deviceTokenOf(deviceToken, "kitchen")}$`, "m");
	await run(0, own, { DEVICE_TOKEN }, "--any-id", "kitchen");
});
