/** Fails for names of the protocol that gateway/api/interface.md lacks. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import {
	commandErrorCodes,
	commands,
	features,
	installedSettings,
	uplinks,
} from "../../../device/protocol/messages.js";
import { keysOf, models, type Schema } from "../../../device/protocol/schema.js";
import { label, labelFields } from "../../../gateway/api/label.js";
import {
	monitorDescriptions,
	monitorErrorDescriptions,
	reasonDescriptions,
} from "../../../scripts/api/descriptions.js";

const text = readFileSync(new URL("../../../gateway/api/interface.md", import.meta.url), "utf8");

/** @returns the section without those below the next heading */
function sectionOf(heading: string): string {
	if (heading === "") return text;
	const start = new RegExp(`^#+ ${heading.replaceAll(".", "\\.")}`);
	return text.split(/^(?=#)/m).find((section) => start.test(section)) ?? assert.fail(`no section ${heading}`);
}

/** Finds `name`, `"name"`, `path.name` or `name: …` in code. */
function isNamed(name: string, section: string): boolean {
	return [...section.matchAll(/`[^`]+`/g)].some(([code]) =>
		new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(code),
	);
}

/** Names of the schema's fields, and of those within them. */
function fieldsOf(schema: Schema): string[] {
	if (schema.type !== "object") return [];
	return Object.entries(schema.fields).flatMap(([name, field]) => [name, ...fieldsOf(field)]);
}

/** The texts that the schema's fields may have, where they are a few. */
function valuesOf(schema: Schema): readonly string[] {
	if (schema.type === "object") return Object.values(schema.fields).flatMap(valuesOf);
	return schema.type === "string" ? (schema.values ?? []) : [];
}

describe("gateway/api/interface.md names", () => {
	const lists: readonly (readonly [what: string, names: readonly string[], section: string])[] = [
		["model", models, "1."],
		["feature", features, "1."],
		["message of a monitor", keysOf(monitorDescriptions), "2.3"],
		["reason of a change", keysOf(reasonDescriptions), "2.5"],
		["field of a label", labelFields, "2.5"],
		["setting", installedSettings, "3.4"],
		["command", keysOf(commands), "4.1"],
		["error of a command", commandErrorCodes, "4.1"],
		["kind of uplink", keysOf(uplinks), "4.2"],
		["error of a monitor's command", keysOf(monitorErrorDescriptions), "4.3"],
		["field of a command", Object.values(commands).flatMap(fieldsOf), ""],
		["value of a command", Object.values(commands).flatMap(valuesOf), ""],
		["field of an uplink", Object.values(uplinks).flatMap(fieldsOf), ""],
	];
	for (const [what, names, heading] of lists)
		test(`each ${what}${heading && ` in section ${heading.replace(/\.$/, "")}`}`, () => {
			const section = sectionOf(heading);
			assert.deepEqual(
				[...new Set(names)].filter((name) => !isNamed(name, section)),
				[],
			);
		});

	test("each field of a label as PATCH takes it, and how long it may be", () => {
		const row = text.split("\n").find((line) => line.includes("`PATCH /api/devices/")) ?? "";
		for (const field of labelFields)
			assert.ok(row.includes(`"${field}"?`), `the row of PATCH does not name ${field}`);
		const { tags, ...texts } = label.fields;
		const limits = [...Object.values(texts).map(({ maxLength }) => maxLength), tags.maxItems];
		assert.deepEqual(
			limits.filter((limit) => !row.includes(String(limit))),
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
