import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Router } from "express";
import { isRecord } from "../../../device/protocol/schema.js";
import { imagePath, writeReleases } from "../../support/releases.js";
import { bearer, monitorToken, runGateway, temporaryDirectory } from "../../support/running.js";
import {
	brokenRelease,
	described,
	examplePath,
	failures,
	type Operation,
	openApi,
	probeByRule,
	probes,
	release,
	testedElsewhere,
	wrongToken,
} from "./probes.js";
import { type Answered, type Asked, ask } from "./server.js";
import { runWholeGateway } from "./whole-gateway.js";

/** Operations, except those of removed extensions. */
const operations = described.filter(
	({ extension }) => extension === undefined || existsSync(`gateway/${extension}`),
);

test("documents each route, except the dashboard's files", async (t) => {
	const { mock } = t.mock.method(Router.prototype, "route");
	await runWholeGateway(t);
	const calls: readonly { readonly arguments: readonly unknown[]; readonly result?: unknown }[] = mock.calls;
	const served = calls.flatMap(({ arguments: [route], result }) => {
		const methods = Object.keys(Object(result).methods).filter((method) => method !== "_all");
		const paths = [route].flat().map((path) => String(path).replaceAll(/:(\w+)|\*(\w+)/g, "{$1$2}"));
		return paths.flatMap((path) => methods.map((method) => `${method.toUpperCase()} ${path}`));
	});
	assert.ok(served.includes("GET /readyz"), `served: ${served}`);
	const known = new Set(described.map(({ method, path }) => `${method} ${path}`));
	const isFile = (route: string) => /^GET \/(\w+\.\w+|assets\/\{name\})?$/.test(route);
	const missing = served.filter((route) => !known.has(route) && !isFile(route));
	assert.deepEqual(missing, [], "add their table to gateway/api/routes.ts");
});

test("has only the operations of the core without extensions", async (t) => {
	const { url } = await runGateway(t, { extensions: [] });
	for (const { method, path, extension } of described) {
		const asked = { path: examplePath(path), headers: bearer(monitorToken) };
		const { status, body } = await ask(url, method, asked);
		const isKnown = status !== 404 || !body.includes("No resource at this path");
		assert.equal(isKnown, extension === undefined, `${method} ${path}: ${body}`);
	}
});

test("returns each status and body documented in openapi.yaml", async (t) => {
	const dataDir = await temporaryDirectory(t);
	const releasesDir = join(dataDir, "releases");
	await writeReleases(releasesDir, [release, brokenRelease]);
	await writeFile(join(releasesDir, "..", imagePath(brokenRelease)), "another file");
	const gateway = await runWholeGateway(t, { dataDir, releasesDir, maxUploadBytes: 200_000 });
	const { url } = gateway;
	await gateway.namedDevice(await gateway.monitor());

	const covered = new Set<string>();
	/** Operation of a key such as "GET /readyz 200 503", whose statuses are covered. */
	const cover = (key: string) => {
		const [method, path, ...statuses] = key.split(" ");
		const operation = described.find((candidate) => candidate.method === method && candidate.path === path);
		for (const status of statuses) {
			assert.ok(operation?.statuses.includes(Number(status)), `${key} is tested, but not in openapi.yaml`);
			covered.add(`${method} ${path} ${status}`);
		}
		return operations.find((candidate) => candidate === operation);
	};
	for (const [key, probe] of probes) {
		const operation = cover(key);
		if (operation) await requireAnswer(url, operation, Number(key.split(" ")[2]), probe);
	}
	for (const key of testedElsewhere) cover(key);
	for (const operation of operations) {
		const { method, path, statuses } = operation;
		for (const status of statuses) {
			if (covered.has(`${method} ${path} ${status}`) || status === 429 || failures.includes(status)) continue;
			const asked = probeByRule(operation, status);
			assert.ok(asked, `add a request for ${method} ${path} ${status} to test/gateway/api/probes.ts`);
			await requireAnswer(url, operation, status, asked);
		}
		if (!statuses.includes(429)) continue;
		// Invalid tokens are counted per group of routes; earlier requests may have used up the limit.
		let answer = await ask(url, method, wrongToken(path));
		for (let attempt = 0; answer.status !== 429 && attempt < 20; attempt++)
			answer = await ask(url, method, wrongToken(path));
		checkAnswer(answer, operation, 429, path);
	}
});

async function requireAnswer(url: string, operation: Operation, status: number, asked: Asked) {
	checkAnswer(await ask(url, operation.method, asked), operation, status, asked.path);
}

function checkAnswer(answer: Answered, { method, names }: Operation, status: number, path: string) {
	const what = `${method} ${path}: ${answer.body.toString("utf8", 0, 200)}`;
	assert.equal(answer.status, status, what);
	const where = [...names, "responses", String(status)];
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
