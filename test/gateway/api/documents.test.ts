/** Tests of the API documents with a linter. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { test } from "node:test";
import { createConfig, lint } from "@redocly/openapi-core";
import { asyncApiDocument } from "../../../scripts/api/asyncapi.js";
import { openApiDocument } from "../../../scripts/api/openapi.js";
import { temporaryDirectory } from "../../support/running.js";
import { described, openApi } from "./probes.js";

const rules = [
	"struct",
	"no-unresolved-refs",
	"no-unused-components",
	"no-invalid-media-type-examples",
	"no-invalid-schema-examples",
	"no-schema-type-mismatch",
	"operation-operationId-unique",
	"path-parameters-defined",
	"security-defined",
];
const documents = ["openapi.yaml", "asyncapi.yaml"] as const;
const pathOf = (name: string) => resolve("gateway/api", name);

for (const { file, text } of [asyncApiDocument(), openApiDocument()])
	test(`matches the committed ${basename(file.pathname)} with the output of \`npm run api\``, () => {
		const [committed, generated] = [readFileSync(file, "utf8"), text].map((all) => all.split("\n"));
		// Compares by line, because a failure would otherwise print a thousand lines.
		const at = generated?.findIndex((line, index) => line !== committed?.[index]) ?? -1;
		const line = committed?.[at < 0 ? (generated?.length ?? 0) : at];
		assert.equal(line, generated?.[at], `line ${at + 1} is out of date: run npm run api`);
	});

test("passes the linter, which reports an unknown field", async (t) => {
	const config = await createConfig({ rules: Object.fromEntries(rules.map((rule) => [rule, "error"])) });
	const problemsOf = async (ref: string) =>
		(await lint({ ref, config })).map(
			({ ruleId, message, location: [at] }) => `${ruleId} ${at?.pointer}: ${message}`,
		);
	for (const name of documents) assert.deepEqual(await problemsOf(pathOf(name)), [], name);
	const text = readFileSync(pathOf("openapi.yaml"), "utf8");
	const broken = join(await temporaryDirectory(t), "openapi.yaml");
	writeFileSync(broken, text.replace("summary:", "sumary:"));
	assert.match((await problemsOf(broken)).join(), /^struct .*Property `sumary` is not expected here/);
});

test("declares each tag, and a valid cookie name, in openapi.yaml", () => {
	const used = new Set(described.flatMap(({ extension = [] }) => extension));
	const { tags } = openApi.content;
	assert.ok(Array.isArray(tags), "openapi.yaml has no tags");
	assert.deepEqual(tags.map(({ name }) => name).sort(), [...used].sort());
	const { name } = openApi.at("components", "securitySchemes", "login");
	// Characters of a token: RFC 9110, section 5.6.2.
	assert.match(String(name), /^[\w!#$%&'*+.^`|~-]+$/);
});
