import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { countLines, describeRooms, roomsOf } from "../../scripts/check/budget.js";
import { temporaryDirectory } from "../support/cleanup.js";

test("a line of code is neither blank nor a comment alone", () => {
	const text = `/**
 * What it does.
 */

// Why.
const path = "**/*.ts"; // As a glob.
/* Short. */
call(/* nothing */);
`;
	assert.equal(countLines(text), 2);
});

test("a room is counted without those inside of it, and says what to do where it is too large", async (t) => {
	const root = await temporaryDirectory(t);
	for (const folder of ["gateway/page", "gateway/node_modules", "gateway/api"])
		await mkdir(join(root, folder), { recursive: true });
	await writeFile(join(root, "gateway/main.ts"), "one();\ntwo();\n");
	await writeFile(join(root, "gateway/api/api.md"), "no code\n");
	await writeFile(join(root, "gateway/api/api.ts"), "three();\n");
	await writeFile(join(root, "gateway/node_modules/theirs.ts"), "theirs();\n");
	await writeFile(join(root, "gateway/page/page.css"), "a {\n}\n");
	const rooms = roomsOf({ gateway: 2, "gateway/page": 2 }, root);
	assert.deepEqual(
		rooms.map(({ name, lines }) => [name, lines]),
		[
			["gateway", 3],
			["gateway/page", 2],
		],
	);
	const [gateway = "", page = ""] = describeRooms(rooms).split("\n");
	assert.match(gateway, /^✘ gateway: 3 lines of code, of at most 2\. Remove/);
	assert.equal(page, "gateway/page: 2 lines of code, of at most 2");
});
