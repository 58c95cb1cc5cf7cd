/** Fails for names of the protocol that gateway/api/interface.md lacks. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import {
	chimes,
	commandErrorCodes,
	commands,
	features,
	installedSettings,
	lightEffects,
	uplinks,
} from "../../../device/protocol/messages.js";
import { keysOf, models } from "../../../device/protocol/schema.js";
import { labelFields } from "../../../gateway/api/label.js";
import {
	monitorDescriptions,
	monitorErrorDescriptions,
	reasonDescriptions,
} from "../../../scripts/api/descriptions.js";

const text = readFileSync(new URL("../../../gateway/api/interface.md", import.meta.url), "utf8");

/** @returns the section without those below the next heading */
function sectionOf(heading: string): string {
	const start = new RegExp(`^#+ ${heading}$`, "m");
	return text.split(/^(?=#)/m).find((section) => start.test(section)) ?? assert.fail(`no section ${heading}`);
}

/** Finds `name`, `"name"`, `path.name` or `name: …` in code. */
function isNamed(name: string, section: string): boolean {
	return [...section.replace(/^```.*?^```$/gms, "").matchAll(/`[^`]+`/g)].some(([code]) =>
		new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(code),
	);
}

describe("gateway/api/interface.md describes", () => {
	const lists: readonly (readonly [what: string, names: readonly string[], heading: string])[] = [
		["model", models, "Connecting"],
		["feature", features, "Connecting"],
		["command", keysOf(commands), "Commands"],
		["chime", chimes, "Commands"],
		["LED state", commands.set_led.fields.value.values, "Commands"],
		["error of a command", commandErrorCodes, "Commands"],
		["uplink", keysOf(uplinks), "Uplinks"],
		["field of play_sound", keysOf(commands.play_sound.fields.value.fields), "Sounds"],
		["light effect", lightEffects, "Light"],
		["setting", installedSettings, "Settings trial"],
		["message of a monitor", keysOf(monitorDescriptions), "Monitors"],
		["error of a monitor's command", keysOf(monitorErrorDescriptions), "Monitors"],
		["reason of a change", keysOf(reasonDescriptions), "Frames to monitors"],
	];
	for (const [what, names, heading] of lists)
		test(`each ${what} in section ${heading}`, () => {
			const section = sectionOf(heading);
			assert.deepEqual(
				names.filter((name) => !isNamed(name, section)),
				[],
			);
		});
});

test("lists all fields of a label in each document that lists some", () => {
	const separator = "\\W+(?:(?:and|or) )?\\W*";
	const first = labelFields.slice(0, 2).join(separator);
	const listing = new RegExp(`\\b${first}(?:${separator}(?:${labelFields.join("|")}))*\\b`, "g");
	const gateway = new URL("../../../gateway/", import.meta.url);
	const documents = readdirSync(gateway, { recursive: true, encoding: "utf8" }).filter((name) =>
		/\.(md|yaml)$/.test(name),
	);
	const found = documents.flatMap((name) => [
		...readFileSync(new URL(name, gateway), "utf8").matchAll(listing),
	]);
	const lists = found.map(([list]) => list).filter((list) => list.includes("note"));
	assert.deepEqual(
		lists.filter((list) => !labelFields.every((field) => list.includes(field))),
		[],
	);
	assert.ok(lists.length > 3, `only found ${lists}`);
});
