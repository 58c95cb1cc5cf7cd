/** Tests of the API documents with a linter and a client generator. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { createConfig, lint } from "@redocly/openapi-core";
import openapiTypescript from "openapi-typescript";
import { isRecord } from "../../../device/protocol/schema.js";
import { parseJson } from "../../../gateway/api/json.js";
import { asyncApiDocument } from "../../../scripts/api/asyncapi.js";
import { openApiDocument } from "../../../scripts/api/openapi.js";
import { temporaryDirectory } from "../../support/running.js";
import { probes } from "./probes.js";
import { ApiDocument } from "./schemas.js";

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
const openApi = new ApiDocument("openapi.yaml");
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
	const operations = Object.values(openApi.at("paths")).flatMap((path) =>
		isRecord(path) ? Object.values(path) : [],
	);
	const used = new Set(operations.flatMap((each) => (isRecord(each) ? (each.tags ?? []) : [])));
	const { tags } = openApi.content;
	assert.ok(Array.isArray(tags), "openapi.yaml has no tags");
	assert.deepEqual(tags.map(({ name }) => name).sort(), [...used].sort());
	const { name } = openApi.at("components", "securitySchemes", "login");
	// Characters of a token: RFC 9110, section 5.6.2.
	assert.match(String(name), /^[\w!#$%&'*+.^`|~-]+$/);
});

/** Statement for each accepted request with a body, from the documents and the probes. */
function requests(): readonly string[] {
	const statement = (path: string, method: string, body: unknown) =>
		`{ const body: Body<paths[${JSON.stringify(path)}][${JSON.stringify(method)}]> = ${JSON.stringify(body)}; void body; }`;
	const examples = Object.keys(openApi.at("paths")).flatMap((path) =>
		Object.keys(openApi.at("paths", path)).flatMap((method) => {
			const { example } = openApi.at("paths", path, method, "requestBody", "content", "application/json");
			return example === undefined ? [] : [statement(path, method, example)];
		}),
	);
	const probed = Object.entries(probes).flatMap(([key, probe]) => {
		const [method = "", path = "", status = ""] = key.split(" ");
		const body = typeof probe.body === "string" ? parseJson(probe.body) : undefined;
		return status.startsWith("2") && body !== undefined ? [statement(path, method.toLowerCase(), body)] : [];
	});
	return [...examples, ...probed];
}

test("compiles a client generated from openapi.yaml with each accepted request", async (t) => {
	const client = await openapiTypescript(pathOf("openapi.yaml"));
	const body =
		'type Body<O> = O extends { requestBody: { content: { "application/json": infer B } } } ? B : never;';
	const folder = await temporaryDirectory(t);
	const compile = async (statements: readonly string[]) => {
		const file = join(folder, "client.ts");
		writeFileSync(file, [client, body, ...statements].join("\n"));
		const tsc = resolve("node_modules/.bin/tsc");
		const options = ["--noEmit", "--strict", "--target", "es2022", "--types", "", file];
		const { stdout } = await promisify(execFile)(tsc, options, { cwd: folder }).catch(({ stdout }) => ({
			stdout,
		}));
		return String(stdout);
	};
	const statements = requests();
	assert.ok(statements.length > 8, `${statements.length} requests`);
	assert.equal(await compile(statements), "");
	const unknownField = JSON.stringify({ targets: { all: true }, payload: { command: "identify", valeu: 1 } });
	const wrong = `{ const body: Body<paths["/api/commands"]["post"]> = ${unknownField}; void body; }`;
	assert.match(await compile([wrong]), /valeu.* does not exist/);
});
