import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { checkBudget, measureFolders } from "../../scripts/check/budget.js";
import { temporaryDirectory } from "../support/cleanup.js";

const commented = `/**
 * Does something.
 */

// Why.
const path = "**/*.ts"; // Glob.
/* Short. */
call(/* nothing */);
`;

test("counts lines of a folder that are not blank or comments, without the folders that have their own budget", async (t) => {
	const root = await temporaryDirectory(t);
	for (const folder of ["gateway/page", "gateway/node_modules", "gateway/api"])
		await mkdir(join(root, folder), { recursive: true });
	await writeFile(join(root, "gateway/main.ts"), commented);
	await writeFile(join(root, "gateway/api/api.md"), "no code\n");
	await writeFile(join(root, "gateway/api/api.ts"), "three();\n");
	await writeFile(join(root, "gateway/node_modules/theirs.ts"), "theirs();\n");
	await writeFile(join(root, "gateway/page/page.css"), "a {\n}\n");
	const rooms = measureFolders({ gateway: 2, "gateway/page": 2 }, root);
	const counted = rooms.map(({ name, lines }) => [name, lines]);
	assert.deepEqual(counted, [
		["gateway", 3],
		["gateway/page", 2],
	]);
});

test("warns above the budget, and fails only in CI above 102 %", () => {
	const check = (lines: number, isCi: boolean) => {
		const { text, isFailed } = checkBudget([{ name: "hosts", lines, most: 12_000 }], isCi);
		return [text.replace(/\. .*/, ""), isFailed];
	};
	const counts = (lines: string) => `hosts: ${lines} lines of code, limit 12,000`;
	assert.deepEqual(check(12_000, true), [counts("12,000"), false]);
	assert.deepEqual(check(12_240, true), [`⚠ ${counts("12,240")}`, false]);
	assert.deepEqual(check(12_241, true), [`✘ ${counts("12,241")}`, true]);
	assert.deepEqual(check(12_241, false), [`⚠ ${counts("12,241")}`, false]);
});
