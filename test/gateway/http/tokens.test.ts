import assert from "node:assert/strict";
import disk from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import { readTokenFile, tokenPath } from "../../../gateway/access/tokens.js";
import type { CreateExtension } from "../../../gateway/extension.js";
import { createTokenRoutes } from "../../../gateway/http/tokens.js";
import { failingDisk } from "../../support/disk.js";
import { nameTokens } from "../../support/logins.js";
import { bearer, deviceToken, monitorToken, type RunOptions, runGateway } from "../../support/running.js";

async function run(t: TestContext, options: RunOptions = {}) {
	const gateway = await runGateway(t, options);
	const call = (method: string, name = "", body?: object) => gateway.api(method, `/api/tokens${name}`, body);
	const names = async () => {
		const { tokens } = (await call("GET")).body;
		return tokens.map(({ name, role }: { name: string; role: string }) => `${name}: ${role}`);
	};
	return { dataDir: gateway.dataDir, gateway, call, names };
}

const isRecent = (time: string) => Math.abs(Date.now() - Date.parse(time)) < 60_000;

describe("personal tokens", () => {
	test("are created with a secret shown once, listed with their last use, and revoked with their connections", async (t) => {
		// Interval of the periodic check of connections.
		const { dataDir, gateway, call, names } = await run(t, { limits: { pingIntervalMs: 600_000 } });
		const made = await call("POST", "", { name: "ben", role: "user" });
		assert.equal(made.status, 201);
		const { token } = made.body;
		const [, unused] = (await call("GET")).body.tokens;
		assert.equal(unused.usedAt, null);
		assert.ok(isRecent(unused.since), `created at ${unused.since}`);
		const socket = await gateway.open("/monitor", { headers: bearer(token) });
		const listed = await call("GET");
		const [own, ben] = listed.body.tokens;
		assert.deepEqual([own.name, own.since, ben.name, ben.role], ["monitor", null, "ben", "user"]);
		for (const { usedAt } of [own, ben]) assert.ok(isRecent(usedAt), `last used at ${usedAt}`);
		for (const secret of [token, monitorToken, deviceToken])
			assert.ok(!listed.text.includes(secret), "no secret is listed");
		assert.equal((await call("DELETE", "/ben")).status, 204);
		assert.equal((await socket.closed).code, 1008);
		assert.equal((await gateway.api("GET", "/login/state", undefined, token)).status, 401);
		assert.deepEqual(await names(), ["monitor: monitor"]);
		assert.deepEqual((await readTokenFile(disk, tokenPath(dataDir)))?.named, []);
	});

	test("are revoked by a response that follows the end of their connections", async (t) => {
		let hasEnded = false;
		const endRevoked = async () => {
			await gateway.api("GET", "/healthz");
			hasEnded = true;
		};
		const extension: CreateExtension = ({ access: { logins }, tokens, storage }) => ({
			routes: createTokenRoutes({ access: { logins, usedAt: () => undefined, endRevoked }, tokens, storage }),
		});
		const { gateway, call } = await run(t, { extensions: [extension] });
		await call("POST", "", { name: "ben", role: "user" });
		assert.equal((await call("DELETE", "/ben")).status, 204);
		assert.equal(hasEnded, true);
	});

	test("have unique names, at most 100, besides the unnamed token, which is listed once in a rotation", async (t) => {
		const { dataDir, call, names } = await run(t, { monitorToken: `${monitorToken},the-previous-token` });
		const named = Array.from({ length: 99 }, (_, index) => ({
			name: `person-${index}`,
			role: "viewer" as const,
			token: `a-token-of-the-person-${index}`,
		}));
		await nameTokens(dataDir, ...named);
		for (const name of ["person-1", "monitor"]) {
			const { status, body } = await call("POST", "", { name, role: "user" });
			assert.equal(status, 409);
			assert.match(body.detail, /A token named .* exists\. Choose another name/);
		}
		assert.equal((await call("POST", "", { name: "the-last", role: "user" })).status, 201);
		const beyond = await call("POST", "", { name: "one-more", role: "user" });
		assert.deepEqual([beyond.status, (await names()).length], [409, 101]);
		for (const name of ["monitor", "unknown"]) assert.equal((await call("DELETE", `/${name}`)).status, 404);
		assert.equal((await call("POST", "/the-last/link")).status, 201);
		assert.equal((await call("POST", "/unknown/link")).status, 404);
	});

	test("are neither created nor revoked if they cannot be written", async (t) => {
		const full = failingDisk("rename", "ENOSPC", "tokens.json");
		full.isFailing = false;
		const { call, names } = await run(t, { disk: full.disk });
		assert.equal((await call("POST", "", { name: "ben", role: "user" })).status, 201);
		full.isFailing = true;
		assert.equal((await call("POST", "", { name: "anna", role: "user" })).status, 507);
		const rejected = await call("DELETE", "/ben");
		assert.equal(rejected.status, 507);
		assert.match(rejected.body.detail, /could not be written to the gateway's disk, and nothing was changed/);
		assert.deepEqual(await names(), ["monitor: monitor", "ben: user"]);
		full.isFailing = false;
		assert.equal((await call("DELETE", "/ben")).status, 204);
	});
});
