import assert from "node:assert/strict";
import disk from "node:fs/promises";
import { type TestContext, test } from "node:test";
import { Access } from "../../../gateway/access/access.js";
import { Logins } from "../../../gateway/access/logins.js";
import { generateTokens, Tokens, type TokensOptions } from "../../../gateway/access/tokens.js";
import { createBase } from "../../../gateway/base.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { incomingRequest } from "../../support/incoming-request.js";
import { deviceToken, monitorToken, temporaryDirectory } from "../../support/running.js";

const hourMs = 60 * 60 * 1000;
const environmentTokens = { device: deviceToken, monitor: monitorToken };

async function run(t: TestContext, fromEnvironment: TokensOptions["fromEnvironment"] = environmentTokens) {
	const clock = { now: 0, ran: 0 };
	const dataDir = await temporaryDirectory(t);
	const tokens = new Tokens({ dataDir, fromEnvironment, disk, onProblem: assert.fail });
	await tokens.open();
	const endedLogins = { has: () => false, end: async () => {}, use: async () => true };
	const base = { now: () => clock.now, monotonic: () => clock.ran };
	const options = { ...base, tokens, publicUrl: undefined, endedLogins };
	return { clock, options, tokens, logins: new Logins(options) };
}

test("keeps a code valid for an hour of uptime, regardless of other codes and the clock", async (t) => {
	const { clock, logins } = await run(t);
	const first = logins.createCode();
	clock.ran = hourMs / 2;
	const second = logins.createCode();
	for (const now of [0, 5 * hourMs]) {
		clock.now = now;
		assert.equal(await logins.useCode(first), monitorToken);
	}
	clock.ran = hourMs;
	logins.createCode();
	assert.deepEqual([await logins.useCode(first), await logins.useCode(second)], [undefined, monitorToken]);
});

test("remembers the latest 100 codes; earlier ones expire by the clock", async (t) => {
	const { clock, logins } = await run(t);
	const [first = "", second = ""] = Array.from({ length: 101 }, () => logins.createCode());
	assert.equal(await logins.useCode(first), monitorToken);
	clock.now = 5 * hourMs;
	assert.deepEqual([await logins.useCode(first), await logins.useCode(second)], [undefined, monitorToken]);
});

test("ends watched connections whose token was removed, and no closed ones", async (t) => {
	const { options } = await run(t);
	const base = createBase({ log: createLog("silent") });
	const access = new Access({ ...base, ...options, onAdmitted: () => {}, onChange: () => {} });
	const ended: string[] = [];
	const watch = (name: string, token: string) =>
		access.watch(incomingRequest("10.0.0.2", { authorization: `Bearer ${token}` }), () => ended.push(name));
	watch("valid", monitorToken);
	watch("removed", "x");
	watch("closed", "x")();
	await access.endRevoked();
	assert.deepEqual(ended, ["removed"]);
});

test("logs in with the current token, even after a rotation", async (t) => {
	const { logins, tokens } = await run(t, { device: undefined, monitor: undefined });
	const code = logins.createCode();
	await tokens.change(generateTokens);
	assert.equal(await logins.useCode(code), tokens.current("monitor"));
});
