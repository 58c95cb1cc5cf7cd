/** Files that each model of device/protocol/models.ts requires. A failure names the missing one. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { boardModels, models } from "../../device/protocol/models.js";
import { buildMachine } from "../../hosts/virtual/node/build.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { Machine } from "../../hosts/virtual/node/machine.js";
import { boardOf } from "../../scripts/boards/build.js";
import { projectFolder } from "../../scripts/command-line/project.js";

const read = (file: string) => readFileSync(join(projectFolder, file), "utf8");

for (const model of models)
	describe(`model ${model}`, () => {
		const folder = `hosts/${boardOf(model)}`;

		for (const file of [`${folder}/pins.ts`, `${folder}/host/provider.ts`, `hosts/qemu/${boardOf(model)}`])
			test(`has ${file}`, () => assert.ok(existsSync(join(projectFolder, file)), "copy another board's"));

		test(`is named in ${folder}/manifest.json and thus in its images`, () => {
			const { defines } = JSON.parse(read(`${folder}/manifest.json`));
			assert.equal(defines.firmware.model, `#${model}`);
			assert.ok(model.length < 16, "an image has room for 15 characters");
		});

		const panel = `hosts/simulator/panels/${boardOf(model)}.js`;
		test(`has the simulator panel ${panel} with its pixels and sensors`, () => {
			const { pixels, parts } = boardModels[model];
			const expected = `model: "${model}", pixels: ${pixels}, hasSensors: ${parts.length > 0}`;
			assert.ok(read(panel).includes(expected), `it must say ${expected}`);
		});
	});

test("the simulator has no panel of another model, and one for a build without a model", () => {
	const panels = readdirSync(join(projectFolder, "hosts/simulator/panels")).filter(
		(name) => name !== "parts",
	);
	assert.deepEqual(panels.sort(), models.map((model) => `${boardOf(model)}.js`).sort());
	const defaults = panels.filter((name) =>
		read(`hosts/simulator/panels/${name}`).includes("isDefault: true"),
	);
	assert.equal(defaults.length, 1, `one panel is the default, not ${defaults.join(" and ")}`);
});

test("every folder of hosts/ with pins belongs to a model", () => {
	const folders = readdirSync(join(projectFolder, "hosts")).filter((name) =>
		existsSync(join(projectFolder, "hosts", name, "host/provider.ts")),
	);
	assert.deepEqual(folders.sort(), models.map(boardOf).sort());
});

test("a virtual host with an unknown model exits with a message that lists the known ones", async () => {
	const [executable, program] = await Promise.all([buildMachine(), buildFirmware()]);
	for (const config of [{ model: "DEV-9" }, {}]) {
		const machine = new Machine({ executable, program: program.bytes, clock: "virtual", config });
		const { kind, message } = await machine.exited;
		assert.equal(kind, "exception");
		assert.match(message, /unknown model (DEV-9|undefined); .* has DEV-1, /);
	}
});
