/** Firmware components: each command has one handler, and each component can be left out. */

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, relative } from "node:path";
import { describe, test } from "node:test";
import { type CommandName, type Feature, features } from "../../device/protocol/messages.js";
import { entryOf, keysOf } from "../../device/protocol/schema.js";
import { commandDocuments } from "../../gateway/api/commands.js";
import { buildFirmware, firmwareModules } from "../../hosts/virtual/node/firmware.js";
import { projectFolder } from "../../scripts/command-line/project.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { waitUntil } from "../support/eventually.js";
import { listen } from "../support/ports.js";
import { powerOn, runScriptedGateway } from "../support/scripted-gateway.js";
import { passUntil } from "../support/virtual-time.js";

test("every command and every feature belongs to exactly one component", async (t) => {
	const gateway = await runScriptedGateway(t);
	await powerOn(t, gateway, "PROTO-1");
	const connection = await gateway.connection();
	// The gateway sends a command only to devices that list its feature.
	const listed = "list it in the features of a component, such as device/peripherals/controls.ts";
	assert.deepEqual(connection.headers["device-features"], features.join(), listed);
	const silent = `http://127.0.0.1:${await listen(t, createServer())}`;
	// The last two are rejected during the update, whose server never responds.
	const { start_ota, set_settings, restart, ...others } = commandDocuments;
	const all = { ...others, start_ota, set_settings, restart };
	const rejected: string[] = [];
	for (const command of keysOf(all)) {
		const { example } = all[command];
		const values = {
			play_sound: { value: { id: "dinner-1", url: `${silent}/one.wav` } },
			start_ota: { url: `${silent}/firmware.bin` },
		};
		connection.send({ ...example, ...entryOf(values, command) });
		// Rejected after every earlier command was executed.
		connection.send({ command: `after ${command}` });
		for (;;) {
			const error = await connection.next("command_error");
			if (error.command === `after ${command}`) break;
			rejected.push(`${command}: ${error.code}`);
		}
	}
	const expected = ["set_settings: busy", "restart: busy"];
	assert.deepEqual(rejected, expected, "execute it in a component, such as device/peripherals/controls.ts");
});

interface Omitted {
	/** Modules by name prefix. */
	readonly files: string;
	/** Its lines in main.ts. */
	readonly name: string;
	readonly features: readonly Feature[];
	readonly command: CommandName;
}

describe("the firmware", () => {
	const omitted: readonly Omitted[] = [
		{ files: "sound/", name: "sound", features: ["sound"], command: "stop_sound" },
		{ files: "diagnostics", name: "diagnostics", features: ["crash", "log"], command: "query_crash" },
	];
	for (const { files, name, features, command } of omitted)
		test(`runs without ${name}, omits its feature and rejects its commands`, async (t) => {
			const text = await readFile(join(projectFolder, "device/main.ts"), "utf8");
			const main = join(await temporaryDirectory(t), "main.ts");
			const kept = text
				.replace(new RegExp(`^import { ${name} } .*\\n`, "m"), "")
				.replace(new RegExp(`^\\t${name},\\n`, "m"), "");
			await writeFile(main, kept);
			const modules = Object.keys(await firmwareModules()).filter((module) => module.startsWith(files));
			const without = Object.fromEntries(modules.map((module) => [module, undefined]));
			const program = await buildFirmware({ ...without, main: relative(projectFolder, main) });
			const gateway = await runScriptedGateway(t);
			const device = await powerOn(t, gateway, "DEV-1", { program, clock: "virtual" });
			const connection = await passUntil(device, gateway.connection());
			const named = String(connection.headers["device-features"]).split(",");
			for (const feature of features) assert.ok(!named.includes(feature), feature);
			assert.ok(named.includes("restart"), `features: ${named}`);
			connection.send(commandDocuments[command].example);
			const { code, message } = await passUntil(device, connection.next("command_error"));
			assert.equal(code, "unknown_command");
			assert.match(message, /was built without/);
			connection.send({ command: "set_volume", value: 40 });
			await waitUntil(
				async () => (await passUntil(device, connection.query())).peripherals.audio.volume === 40,
			);
		});
});
