/** The blueprint and the README's automations use what devices have in Home Assistant. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { parse } from "yaml";
import { chimes, lightEffects } from "../../../device/protocol/messages.js";
import { noEffect } from "../../../gateway/home-assistant/entities.js";

/** A value of the blueprint's own, by its name. */
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

/** All objects in it, at any depth. */
function* objectsIn(value: unknown): Generator<object> {
	if (typeof value !== "object" || value === null) return;
	yield value;
	for (const inner of Object.values(value)) yield* objectsIn(inner);
}

const actionsIn = (value: unknown): readonly Action[] =>
	[...objectsIn(value)].filter((each): each is Action => "action" in each);

/** homeassistant/components/{light,siren,notify}/services.yaml: what each takes of that which is used. */
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

test("the blueprint's actions are those of the entities, and it uses each of its inputs and no other", async () => {
	const blueprint = parse(await readFile("gateway/home-assistant/doorbell.yaml", "utf8"), { customTags });
	const { blueprint: about, ...automation } = blueprint;
	check(actionsIn(automation));
	const used = [...objectsIn(automation)].flatMap((each) => (each instanceof Input ? each.name : []));
	assert.deepEqual([...new Set(used)].sort(), Object.keys(about.input).sort());
	assert.ok(
		tones.includes(about.input.tone.default),
		`tone ${about.input.tone.default} is not one of ${tones}`,
	);
	assert.deepEqual(Object.keys(automation), ["mode", "max_exceeded", "triggers", "conditions", "actions"]);
});

test("so are those of the README", async () => {
	const [, listed = ""] =
		/^```yaml\n(- alias: .+?)^```$/ms.exec(await readFile("gateway/home-assistant/README.md", "utf8")) ?? [];
	const automations = parse(listed);
	assert.equal(automations.length, 2);
	check(actionsIn(automations));
});
