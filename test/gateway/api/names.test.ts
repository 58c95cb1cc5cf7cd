/** Fails for names and values of the protocol that other tables lack, and names the file to edit. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
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

test("describes each name of the protocol in gateway/api/interface.md", () => {
	for (const [what, names, heading] of lists) {
		const section = sectionOf(heading);
		const missing = names.filter((name) => !isNamed(name, section));
		const place = `section "${heading}" of gateway/api/interface.md`;
		assert.deepEqual(missing, [], `add ${missing.join(", ")} (${what}) to ${place}`);
	}
});
