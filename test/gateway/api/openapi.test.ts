import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { isRecord } from "../../../device/protocol/schema.js";
import { imagePath, writeReleases } from "../../support/releases.js";
import { runGateway, temporaryDirectory } from "../../support/running.js";
import { extensionParts } from "../extension-parts.js";
import { brokenRelease, probeByRule, probes, release, testedElsewhere, wrongToken } from "./probes.js";
import { ApiDocument } from "./schemas.js";
import { type Answered, type Asked, ask, routesOf } from "./server.js";
import { runWholeGateway } from "./whole-gateway.js";

const openApi = new ApiDocument("openapi.yaml");
/** Dashboard routes, mentioned but not listed in openapi.yaml. */
const pageFiles = ["GET /", "GET /icon.svg", "GET /assets/{name}"];

interface Operation {
	/** Upper case. */
	readonly method: string;
	readonly path: string;
	/** Path in the document. */
	readonly names: readonly string[];
	/** Folder of the extension; undefined: the core. */
	readonly extension: string | undefined;
}

const described: readonly Operation[] = Object.keys(openApi.at("paths")).flatMap((path) =>
	Object.keys(openApi.at("paths", path))
		.filter((name) => name !== "parameters")
		.map((name) => {
			const names = ["paths", path, name];
			const { tags } = openApi.at(...names);
			const extension = Array.isArray(tags) ? String(tags[0]) : undefined;
			return { method: name.toUpperCase(), path, names, extension };
		}),
);
/** Operations, except those of removed extensions. */
const operations = described.filter(
	({ extension }) => extension === undefined || existsSync(`gateway/${extension}`),
);

test("validates openapi.yaml as OpenAPI 3.1", async () => {
	const { valid, errors } = await new Validator().validate({ ...openApi.content });
	assert.ok(valid, JSON.stringify(errors));
});

test("matches each example body in openapi.yaml with its schema, which describes all fields", () => {
	for (const { names } of described)
		for (const status of Object.keys(openApi.at(...names, "responses"))) {
			const response = [...names, "responses", status];
			for (const type of mediaTypes(openApi.at(...response))) {
				const where = [...response, "content", type];
				const { example } = openApi.at(...where);
				if (example !== undefined) requireMatch(example, where, where.join(" "));
			}
		}
});

test("lists exactly the routes of the running gateway", async (t) => {
	const { url } = await runWholeGateway(t);
	assert.deepEqual(
		operations.map(({ method, path }) => `${method} ${path}`).sort(),
		(await routesOf(url)).filter((route) => !pageFiles.includes(route)),
		"a route of another kind was added: define it in gateway/api",
	);
});

test("names the extension of each route outside the core", async (t) => {
	const { url } = await runGateway(t, { extensions: [] });
	const ofCore = operations.filter(({ extension }) => extension === undefined);
	assert.deepEqual(ofCore.map(({ method, path }) => `${method} ${path}`).sort(), await routesOf(url));
});

/** Whether a test was removed with a required extension. */
function isGone(file: string): boolean {
	const removed = Object.entries(extensionParts).filter(([name]) => !existsSync(`gateway/${name}`));
	return removed.some(([, parts]) => parts.some((part) => file === part || file.startsWith(`${part}/`)));
}

test("returns each status and body documented in openapi.yaml", async (t) => {
	const dataDir = await temporaryDirectory(t);
	const releasesDir = join(dataDir, "releases");
	await writeReleases(releasesDir, [release, brokenRelease]);
	await writeFile(join(releasesDir, "..", imagePath(brokenRelease)), "another file");
	const gateway = await runWholeGateway(t, { dataDir, releasesDir, maxUploadBytes: 200_000 });
	const { url } = gateway;
	await gateway.namedDevice(await gateway.monitor());

	for (const [key, probe] of Object.entries(probes)) {
		const [method = "", path = "", status = ""] = key.split(" ");
		assert.ok(promised(method, path).includes(Number(status)), `${key} is probed, but not in openapi.yaml`);
		if (!operations.some((each) => each.method === method && each.path === path)) continue;
		await requireAnswer(url, method, path, Number(status), probe);
	}
	const elsewhere = new Set<string>();
	for (const [key, test] of Object.entries(testedElsewhere)) {
		const [method = "", path = "", ...statuses] = key.split(" ");
		const file = `test/gateway/${test}.test.ts`;
		assert.ok(existsSync(file) || isGone(file), `${file} is missing`);
		for (const status of statuses) {
			assert.ok(promised(method, path).includes(Number(status)), `${key} is tested, but not in openapi.yaml`);
			elsewhere.add(`${method} ${path} ${status}`);
		}
	}
	for (const { method, path } of operations) {
		const isProbed = (key: string) => key in probes || elsewhere.has(key);
		const missing = promised(method, path).filter((status) => !isProbed(`${method} ${path} ${status}`));
		for (const status of missing.filter((one) => one !== 429)) {
			const asked = probeByRule(path, status);
			assert.ok(asked, `add a request for ${method} ${path} ${status} to test/gateway/api/probes.ts`);
			await requireAnswer(url, method, path, status, asked);
		}
		if (!missing.includes(429)) continue;
		// Invalid tokens are counted per group of routes; earlier requests may have used up the limit.
		for (let attempt = 0; attempt < 10; attempt++) await ask(url, method, wrongToken(path));
		await requireAnswer(url, method, path, 429, wrongToken(path));
	}
});

function promised(method: string, path: string): number[] {
	return Object.keys(openApi.at("paths", path, method.toLowerCase(), "responses")).map(Number);
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
	if (type.endsWith("json")) requireMatch(JSON.parse(body.toString()), [...where, "content", type], what);
}

/** @param where path of a media type with a schema */
function requireMatch(body: unknown, where: readonly string[], what: string) {
	assert.equal(openApi.problemOf(body, ...where, "schema"), undefined, what);
	assert.deepEqual(openApi.undescribed(body, ...where, "schema"), [], `${what}: fields not in openapi.yaml`);
}

function mediaTypes({ content }: Readonly<Record<string, unknown>>): string[] {
	return isRecord(content) ? Object.keys(content) : [];
}
