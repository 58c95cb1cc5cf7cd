/** Tests that all styles use the text sizes and spaces defined in base.css, and no slow selectors. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const folder = new URL("../../../gateway/dashboard/page/", import.meta.url);
const files = [
	...readdirSync(folder, { recursive: true, encoding: "utf8" })
		.filter((name) => name.endsWith(".css"))
		.map((name) => fileURLToPath(new URL(name, folder))),
	fileURLToPath(new URL("../../../scripts/demo/page/board.css", import.meta.url)),
];

interface Declaration {
	/** File, property and value. */
	readonly where: string;
	readonly property: string;
	readonly value: string;
}

function readStyles(file: string): string {
	return readFileSync(file, "utf8").replaceAll(/\/\*.*?\*\//gs, "");
}

const declarations = files.flatMap((file): readonly Declaration[] => {
	const text = readStyles(file);
	return [...text.matchAll(/(?<=[{;]\s*)([a-z-]+):\s*([^;{}]+);/g)].map(([, property = "", value = ""]) => ({
		where: `${file.slice(file.lastIndexOf("/") + 1)}: ${property}: ${value}`,
		property,
		value,
	}));
});

/** Declarations of a property whose value does not match. */
function others(property: RegExp, allowed: RegExp): readonly string[] {
	const these = declarations.filter((declaration) => property.test(declaration.property));
	assert.ok(these.length > 0, `no style sets ${property}`);
	return these.filter(({ value }) => !allowed.test(value)).map(({ where }) => where);
}

describe("page styles", () => {
	test("use text sizes of the scale", () => {
		assert.deepEqual(others(/^font-size$/, /^(var\(--text-\d+\)|inherit)$/), []);
	});

	test("use spaces of the scale, or calculations with them", () => {
		// 3 px reserve space for the focus outline.
		const space = String.raw`(0|auto|-?3px|var\(--[a-z]+(-\d+)?\)|(calc|clamp|max)\(.*var\(--.*\))`;
		const spaces = new RegExp(`^${space}( ${space})*$`, "s");
		assert.deepEqual(others(/^((row-|column-)?gap|(margin|padding)(-.*)?)$/, spaces), []);
	});

	test("name a class before a sibling combinator", () => {
		// Otherwise each inserted row restyles all others: 12 ms in each frame while the device table is scrolled.
		const selectors = files.flatMap((file) => readStyles(file).match(/[^{};]+(?=\{)/g) ?? []);
		const siblings = selectors.flatMap((selector) => selector.match(/\S+\s[+~]\s(?!\d)/g) ?? []);
		assert.ok(siblings.length > 0, "no selector has a sibling combinator");
		const broad = siblings.filter((sibling) => !/[.#[]/.test(sibling));
		assert.deepEqual(broad, []);
	});

	test("animate for 150 ms with ease-out, or for the duration of an activity", () => {
		assert.deepEqual(
			others(/^(animation|transition)$/, /150ms ease-out$|infinite$|^none$|^var\(--motion\)$/),
			[],
		);
	});
});
