import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import disk from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import { generateTokens, readTokenFile, tokenPath, writeTokenFile } from "../../../gateway/access/tokens.js";
import {
	bearer,
	deviceToken,
	monitorToken,
	type RunOptions,
	runGateway,
	temporaryDirectory,
} from "../../support/running.js";

async function run(t: TestContext, options: RunOptions = {}) {
	const dataDir = await temporaryDirectory(t);
	const gateway = await runGateway(t, { dataDir, ...options });
	const call = async (method: string, path = "", body?: object) => {
		const response = await fetch(`${gateway.url}/api/tokens${path}`, {
			method,
			headers: bearer(monitorToken),
			...(body && { body: JSON.stringify(body) }),
		});
		const text = await response.text();
		return { status: response.status, text, body: text === "" ? undefined : JSON.parse(text) };
	};
	const names = async () => {
		const { body } = await call("GET");
		const tokens: { name: string; role: string }[] = body.tokens;
		return tokens.map(({ name, role }) => `${name}: ${role}`);
	};
	return { dataDir, gateway, call, names };
}

describe("personal tokens", () => {
	test("are created with a secret shown once, listed with their last use, and revoked with their connections", async (t) => {
		// Interval of the periodic check of connections.
		const { dataDir, gateway, call, names } = await run(t, { limits: { pingIntervalMs: 600_000 } });
		const made = await call("POST", "", { name: "ben", role: "user" });
		assert.equal(made.status, 201);
		const { token } = made.body;
		const [, unused] = (await call("GET")).body.tokens;
		assert.equal(unused.usedAt, null);
		assert.ok(Math.abs(Date.now() - Date.parse(unused.since)) < 60_000, `created at ${unused.since}`);
		const socket = await gateway.open("/monitor", { headers: bearer(token) });
		const listed = await call("GET");
		const [own, ben] = listed.body.tokens;
		assert.deepEqual([own.name, own.since, ben.name, ben.role], ["monitor", null, "ben", "user"]);
		for (const { usedAt } of [own, ben])
			assert.ok(Math.abs(Date.now() - Date.parse(usedAt)) < 60_000, `last used at ${usedAt}`);
		for (const secret of [token, monitorToken, deviceToken])
			assert.ok(!listed.text.includes(secret), "no secret is listed");
		assert.equal((await call("DELETE", "/ben")).status, 204);
		assert.equal((await socket.closed).code, 1008);
		assert.equal((await fetch(`${gateway.url}/login/state`, { headers: bearer(token) })).status, 401);
		assert.deepEqual(await names(), ["monitor: monitor"]);
		assert.deepEqual((await readTokenFile(disk, tokenPath(dataDir)))?.named, []);
	});

	test("have unique names, at most 100, besides the unnamed token", async (t) => {
		const { dataDir, call, names } = await run(t);
		const named = Array.from({ length: 99 }, (_, index) => ({
			name: `person-${index}`,
			role: "viewer" as const,
			token: `a-token-of-the-person-${index}`,
		}));
		await writeTokenFile(disk, tokenPath(dataDir), { ...generateTokens(), named });
		for (const name of ["person-1", "monitor"]) {
			const { status, body } = await call("POST", "", { name, role: "user" });
			assert.equal(status, 409);
			assert.match(body.detail, /A token named .* exists\. Choose another name/);
		}
		assert.equal((await call("POST", "", { name: "the-last", role: "user" })).status, 201);
		const beyond = await call("POST", "", { name: "one-more", role: "user" });
		assert.deepEqual([beyond.status, (await names()).length], [409, 101]);
		for (const name of ["monitor", "nobody"]) assert.equal((await call("DELETE", `/${name}`)).status, 404);
	});

	test("are neither created nor revoked if they cannot be written", async (t) => {
		let isFull = false;
		const rename: typeof disk.rename = async (from, to) => {
			if (isFull && String(to).endsWith("tokens.json")) throw Object.assign(new Error(), { code: "ENOSPC" });
			await disk.rename(from, to);
		};
		const { call, names } = await run(t, { disk: { ...disk, rename } });
		assert.equal((await call("POST", "", { name: "ben", role: "user" })).status, 201);
		isFull = true;
		assert.equal((await call("POST", "", { name: "anna", role: "user" })).status, 507);
		const refused = await call("DELETE", "/ben");
		assert.equal(refused.status, 507);
		assert.match(refused.body.detail, /could not be written to the gateway's disk, and nothing was changed/);
		assert.deepEqual(await names(), ["monitor: monitor", "ben: user"]);
		isFull = false;
		assert.equal((await call("DELETE", "/ben")).status, 204);
	});

	const skip = existsSync("gateway/audit") ? false : "audit/ was removed";
	test("are in the audit log without their secret", { skip }, async (t) => {
		const { gateway, call } = await run(t);
		const { token } = (await call("POST", "", { name: "ben", role: "user" })).body;
		await fetch(`${gateway.url}/login/link`, { method: "POST", headers: bearer(token) });
		await call("DELETE", "/ben");
		const response = await fetch(`${gateway.url}/api/audit`, { headers: bearer(monitorToken) });
		const text = await response.text();
		const changes: { who: string; what: string; detail: string | null }[] = JSON.parse(text).changes;
		assert.deepEqual(changes.map(({ who, what, detail }) => [who, what, detail]).reverse(), [
			["monitor", "POST /api/tokens", '{"name":"ben","role":"user"}'],
			["ben", "POST /login/link", null],
			["monitor", "DELETE /api/tokens/ben", null],
		]);
		assert.ok(!text.includes(token), "the audit log contains the token");
	});
});
