import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { programNames } from "./programs.js";

test("is the only module that finds optional programs", () => {
	const start = new RegExp(`\\b(spawn|execFile)(Sync)?\\(\\s*"(${programNames.join("|")})"`);
	const starting = readdirSync("test", { recursive: true, encoding: "utf8" })
		.filter((file) => file.endsWith(".ts"))
		.filter((file) => start.test(readFileSync(join("test", file), "utf8")));
	assert.deepEqual(starting, []);
});
