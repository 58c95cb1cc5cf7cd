/** Tests that the blueprint and the README's automations use existing entities. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { parse } from "yaml";
import { chimes, lightEffects } from "../../../device/protocol/messages.js";
import { noEffect } from "../../../gateway/home-assistant/entities.js";

/** Blueprint input, by name. */
class Input {
	readonly name: string;

	constructor(name: string) {
		this.name = name;
	}
}
const customTags = [{ tag: "!input", resolve: (name: string) => new Input(name) }];

interface Action {
	readonly action: string;
	readonly data?: Readonly<Record<string, unknown>>;
}

/** All nested objects. */
function* objectsIn(value: unknown): Generator<object> {
	if (typeof value !== "object" || value === null) return;
	yield value;
	for (const inner of Object.values(value)) yield* objectsIn(inner);
}

const actionsIn = (value: unknown): readonly Action[] =>
	[...objectsIn(value)].filter((object): object is Action => "action" in object);

/** Used fields of homeassistant/components/{light,siren,notify}/services.yaml. */
const fields: Readonly<Record<string, readonly string[]>> = {
	"light.turn_on": ["rgb_color", "effect"],
	"light.turn_off": [],
	"siren.turn_on": ["tone"],
	"notify.send_message": ["message"],
};
const effects: readonly unknown[] = [noEffect, ...lightEffects];
const tones: readonly unknown[] = chimes;

function check(actions: readonly Action[]): void {
	assert.ok(actions.length >= 2, `only ${actions.length} actions`);
	for (const { action, data = {} } of actions) {
		const known = fields[action];
		assert.ok(known, action);
		for (const [name, value] of Object.entries(data)) {
			assert.ok(known.includes(name), `${action} takes ${name}`);
			if (name === "effect") assert.ok(effects.includes(value), `effect ${value}`);
			if (name === "tone" && !(value instanceof Input)) assert.ok(tones.includes(value), `tone ${value}`);
		}
	}
}

test("uses valid entity actions and exactly the declared inputs in the blueprint", async () => {
	const blueprint = parse(await readFile("gateway/home-assistant/doorbell.yaml", "utf8"), { customTags });
	const { blueprint: about, ...automation } = blueprint;
	check(actionsIn(automation));
	const used = [...objectsIn(automation)].flatMap((object) => (object instanceof Input ? object.name : []));
	assert.deepEqual([...new Set(used)].sort(), Object.keys(about.input).sort());
	assert.ok(tones.includes(about.input.tone.default), `none of ${tones}`);
	assert.deepEqual(Object.keys(automation), ["mode", "max_exceeded", "triggers", "conditions", "actions"]);
});

test("uses valid entity actions in the README", async () => {
	const [, listed = ""] =
		/^```yaml\n(- alias: .+?)^```$/ms.exec(await readFile("gateway/home-assistant/README.md", "utf8")) ?? [];
	const automations = parse(listed);
	assert.equal(automations.length, 2);
	check(actionsIn(automations));
});
