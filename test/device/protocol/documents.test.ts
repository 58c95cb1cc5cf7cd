/** Limits of each field, compared with gateway/api/asyncapi.yaml and an independent validator. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkCommand, checkUplink } from "../../../device/protocol/messages.js";
import { isRecord } from "../../../device/protocol/schema.js";
import { commandDocuments } from "../../../gateway/api/commands.js";
import { asyncApiDocument } from "../../../scripts/api/asyncapi.js";
import { uplinkExamples } from "../../../scripts/api/examples.js";
import { ApiDocument } from "../../gateway/api/schemas.js";
import { type Json, sampleReport, withField, withFields } from "../../support/sample-report.js";

type Message = { [name: string]: Json };

const document = new ApiDocument(asyncApiDocument());
const copy = (value: object): Message => JSON.parse(JSON.stringify(value));
const light = { color: "#ff8800", effect: "progress", progress: 0.5 };

/** Messages with optional objects, by the name of their schema. */
const uplinks: readonly (readonly [name: string, message: Message])[] = [
	["state_report", sampleReport("DEV-1")],
	[
		"state_report",
		withFields(sampleReport("PROTO-1"), {
			"peripherals.led_ring.light": light,
			quiet: { id: "n1", until: "2026-11-20T23:59:59Z" },
		}),
	],
	...Object.entries(uplinkExamples).map(([name, example]) => [name, copy(example)] as const),
];
const digest = "0f".repeat(32);
const commands: readonly (readonly [name: string, message: Message])[] = [
	...Object.entries(commandDocuments).map(([name, { example }]) => [name, copy(example)] as const),
	["play_sound", { command: "play_sound", value: { id: "a", url: "http://a/b" } }],
	["set_light", { command: "set_light", value: light }],
	["set_quiet", { command: "set_quiet", value: { id: "n1", periods: [{ from: 1, until: 2 }] } }],
	[
		"start_ota",
		{ command: "start_ota", url: "http://a/b", patch: { url: "http://a/c", from: digest, to: digest } },
	],
	["set_settings", { command: "set_settings", value: { ssid: "a", token: "a" } }],
];

/** Yields each documented field of the objects in a message, with the place of its schema. */
function* fieldsIn(
	message: Message,
	where: readonly string[],
	path = "",
): Generator<readonly [path: string, where: readonly string[]]> {
	const { properties, anyOf } = document.at(...where);
	if (Array.isArray(anyOf))
		for (const index of anyOf.keys()) yield* fieldsIn(message, [...where, "anyOf", String(index)], path);
	for (const name of Object.keys(isRecord(properties) ? properties : {})) {
		const place = [...where, "properties", name];
		yield [path + name, place];
		const inner = message[name];
		if (isRecord(inner)) yield* fieldsIn(copy(inner), place, `${path}${name}.`);
	}
}

/** Values at the limits of a field and beyond, and of other types. */
function valuesOf(where: readonly string[]): readonly (Json | undefined)[] {
	const { minimum, maximum, maxLength, enum: names = [] } = document.at(...where);
	const limits = [minimum, maximum].filter((limit) => typeof limit === "number");
	const lengths = typeof maxLength === "number" ? [maxLength, maxLength + 1] : [];
	return [
		...[undefined, null, true, false, -1, 0.5, "", "other", "X".repeat(3000), {}, []],
		...limits.flatMap((limit) => [limit - 1, limit - 0.01, limit, limit + 0.01, limit + 1, String(limit)]),
		...lengths.map((length) => "x".repeat(length)),
		...(Array.isArray(names) ? names.flatMap((name) => [String(name), String(name).toUpperCase()]) : []),
	];
}

for (const [what, messages, problemOf] of [
	["uplink", uplinks, (message: Message) => checkUplink(message).problem],
	["command", commands, (message: Message) => checkCommand(message).rejection?.message],
] as const)
	test(`limits the fields of each ${what} as documented, and names them`, () => {
		for (const [name, message] of messages) {
			const schema = ["components", "schemas", name];
			assert.equal(problemOf(message), undefined, name);
			for (const [path, where] of fieldsIn(message, schema))
				for (const value of valuesOf(where)) {
					const changed = withField(message, path, value);
					const [problem, documented] = [problemOf(changed), document.problemOf(changed, ...schema)];
					assert.equal(problem === undefined, documented === undefined, `${name} ${path}: ${documented}`);
					// Another model has other fields.
					if (path === "system.model") continue;
					assert.ok(problem?.includes(path) ?? true, `${name} ${path} ${value} gave: ${problem}`);
				}
		}
	});
