import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv } from "ajv";
import formats from "ajv-formats";
import { apiDocuments } from "../../../scripts/api/documents.js";
import { allResponses } from "../../../scripts/api/openapi.js";
import { routes } from "../../../scripts/api/routes.js";
import { pathOf, writeReleases } from "../firmware/releases.js";
import { runGateway, temporaryDirectory } from "../running.js";
import { brokenRelease, probeByRule, probes, release, wrongToken } from "./probes.js";
import { ApiDocument } from "./schemas.js";
import { type Answered, type Asked, ask, routesOf } from "./server.js";

const openApi = new ApiDocument("openapi.yaml");
/** The dashboard's, which openapi.yaml names in a sentence. */
const pageFiles = ["GET /", "GET /icon.svg", "GET /assets/{name}"];

test("the committed documents are what `npm run api` makes", async () => {
	for (const { file, text } of apiDocuments())
		assert.equal(await readFile(file, "utf8"), text, `${file.pathname} is old; run npm run api`);
});

test("openapi.yaml is an OpenAPI 3.1 document", async () => {
	const { valid, errors } = await new Validator().validate({ ...openApi.content });
	assert.ok(valid, JSON.stringify(errors));
});

test("asyncapi.yaml is an AsyncAPI 3.0 document", () => {
	const ajv = new Ajv({ strict: false, validateSchema: false });
	formats.default(ajv);
	const require = createRequire(import.meta.url);
	const specification: object = require("@asyncapi/specs/schemas/3.0.0-without-$id.json");
	assert.ok(ajv.validate(specification, new ApiDocument("asyncapi.yaml").content), ajv.errorsText());
});

test("each example body in openapi.yaml matches its schema", () => {
	for (const { method, path } of routes)
		for (const [status, response] of Object.entries(openApi.at("paths", path, method, "responses")))
			for (const type of mediaTypes(response)) {
				const where = ["paths", path, method, "responses", status, "content", type];
				const { example } = openApi.at(...where);
				if (example !== undefined)
					assert.equal(openApi.problemOf(example, ...where, "schema"), undefined, where.join(" "));
			}
});

test("openapi.yaml has each route of the running gateway, and no other", async (t) => {
	const { url } = await runGateway(t);
	assert.deepEqual(
		routes.map(({ method, path }) => `${method.toUpperCase()} ${path}`).sort(),
		(await routesOf(url)).filter((route) => !pageFiles.includes(route)),
		"a route was added or removed: bring scripts/api/routes.ts in line and run npm run api",
	);
});

test("the running gateway gives each answer that openapi.yaml promises, with a body as it says", async (t) => {
	const dataDir = await temporaryDirectory(t);
	const releasesDir = join(dataDir, "releases");
	await writeReleases(releasesDir, [release, brokenRelease]);
	await writeFile(join(releasesDir, "..", pathOf(brokenRelease)), "another file");
	const gateway = await runGateway(t, { dataDir, releasesDir, maxUploadBytes: 200_000 });
	const { url, loginUrl } = gateway;
	await gateway.namedDevice(await gateway.monitor());
	const { pathname, search } = new URL(loginUrl);

	for (const [key, probe] of Object.entries(probes)) {
		const [method = "", path = "", status = ""] = key.split(" ");
		assert.ok(promised(method, path).includes(Number(status)), `${key} is probed, but not in openapi.yaml`);
		if ("heldBy" in probe) continue;
		const asked = key === "GET /login 303" ? { path: `${pathname}${search}` } : probe;
		await requireAnswer(url, method, path, Number(status), asked);
	}
	for (const { method: lower, path } of routes) {
		const method = lower.toUpperCase();
		const missing = promised(method, path).filter((status) => !(`${method} ${path} ${status}` in probes));
		for (const status of missing.filter((one) => one !== 429)) {
			const asked = probeByRule(path, status);
			assert.ok(asked, `add a request for ${method} ${path} ${status} to test/gateway/api/probes.ts`);
			await requireAnswer(url, method, path, status, asked);
		}
		if (!missing.includes(429)) continue;
		// Wrong tokens are counted for each group of routes: whoever came before may have used them up.
		for (let attempt = 0; attempt < 10; attempt++) await ask(url, method, wrongToken(method, path));
		await requireAnswer(url, method, path, 429, wrongToken(method, path));
	}
});

function promised(method: string, path: string): number[] {
	const route = routes.find((one) => one.method.toUpperCase() === method && one.path === path);
	return route ? Object.keys(allResponses(route)).map(Number) : [];
}

async function requireAnswer(url: string, method: string, path: string, status: number, asked: Asked) {
	const answer = await ask(url, method, asked);
	const what = `${method} ${asked.path}: ${answer.body.toString("utf8", 0, 200)}`;
	assert.equal(answer.status, status, what);
	const where = ["paths", path, method.toLowerCase(), "responses", String(status)];
	for (const name of Object.keys(openApi.at(...where, "headers")))
		assert.ok(answer.headers[name.toLowerCase()], `${what} has no ${name}`);
	requireBody(answer, where, what);
}

function requireBody({ headers, body }: Answered, where: readonly string[], what: string) {
	const [type] = mediaTypes(openApi.at(...where));
	if (type === undefined) return;
	assert.equal(headers["content-type"]?.split(";")[0], type, what);
	if (!type.endsWith("json")) return;
	const value: unknown = JSON.parse(body.toString());
	assert.equal(openApi.problemOf(value, ...where, "content", type, "schema"), undefined, what);
}

function mediaTypes(response: unknown): string[] {
	const hasContent = typeof response === "object" && response !== null && "content" in response;
	return hasContent && response.content ? Object.keys(response.content) : [];
}
