import assert from "node:assert/strict";
import disk, { chown, mkdir, readdir, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { deviceTokenOf } from "../../../gateway/access/secrets.js";
import { readTokenFile, Tokens, tokenPath, writeTokenFile } from "../../../gateway/access/tokens.js";
import { StartError } from "../../../gateway/problem.js";
import { strictDisk } from "../../../gateway/storage/atomic-file.js";
import { sampleReport } from "../../../scripts/api/sample-report.js";
import { retire, rotate } from "../../../scripts/token/rotation.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { waitUntil } from "../../support/eventually.js";
import { logIn, loginOf } from "../../support/logins.js";
import {
	bearer,
	deviceToken,
	monitorToken,
	type RunningGateway,
	runGateway,
	runWatched,
} from "../../support/running.js";

const made = { deviceToken: undefined, monitorToken: undefined };
const own = bearer(deviceTokenOf(deviceToken, "dev-1-a1b2c3"));
const both = ["device", "monitor"] as const;

/** Tokens as `npm run token` opens them. */
function tokensIn(dataDir: string): Tokens {
	const fromEnvironment = { device: undefined, monitor: undefined };
	return new Tokens({ dataDir, fromEnvironment, disk: strictDisk(disk), onProblem: assert.fail });
}

async function statusOf({ api }: RunningGateway, shown: string, path = "/ota/status"): Promise<number> {
	return (await api("GET", path, undefined, shown)).status;
}

/** Gateway with generated tokens, and the same tokens as another process opens them. */
async function runMade(t: TestContext) {
	const dataDir = await temporaryDirectory(t);
	const gateway = await runGateway(t, { ...made, dataDir });
	const tokens = tokensIn(dataDir);
	await tokens.open();
	const change = (by: typeof rotate, which: readonly ("device" | "monitor")[] = both) =>
		tokens.change((file) => by(file ?? assert.fail("no tokens"), which));
	return { dataDir, gateway, tokens, change };
}

describe("own token of a device", () => {
	test("identifies the device without a header", async (t) => {
		const { gateway, monitor } = await runWatched(t);
		const device = await gateway.device(own);
		assert.equal((await monitor.change("connected")).deviceId, "dev-1-a1b2c3");
		device.send(sampleReport("DEV-1"));
		assert.equal((await monitor.change("identified")).deviceId, "dev-1-a1b2c3");
		await gateway.device({ ...own, "Device-Id": "dev-1-a1b2c3" });
		await monitor.change("replaced");
		const { status, body } = await gateway.rejected("/device", { ...own, "Device-Id": "dev-1-000002" });
		assert.equal(status, 403);
		assert.match(JSON.parse(body).detail, /for dev-1-a1b2c3 only/);
	});

	test("is rejected for another device, gateway or format", async (t) => {
		const gateway = await runGateway(t);
		const [, signature = ""] = own.Authorization.split("dev-1-a1b2c3");
		for (const shown of [
			`dev-1-000002${signature}`,
			deviceTokenOf(monitorToken, "dev-1-a1b2c3"),
			deviceTokenOf("another-device-token", "dev-1-a1b2c3"),
			signature,
			"dev-1-a1b2c3.",
			"dev-1-a1b2c3",
		])
			assert.equal((await gateway.rejected("/device", bearer(shown))).status, 401, shown);
	});
});

test("revokes a named token with its logins, also beside tokens from the environment", async (t) => {
	const { gateway, tokens, change } = await runMade(t);
	const viewer = await tokens.add("lobby-screen", "viewer");
	const login = await logIn(gateway.url, viewer);
	const answers = async () => [await statusOf(gateway, viewer), (await loginOf(gateway.url, login)).status];
	await change(rotate);
	await change(retire);
	assert.deepEqual(await answers(), [200, 200], "affected by a rotation");
	await assert.rejects(tokens.add("lobby-screen", "monitor"), /A token named lobby-screen exists/);
	await tokens.remove("lobby-screen");
	assert.deepEqual(await answers(), [401, 401]);
	const withTokens = await runGateway(t);
	const hall = await tokensIn(withTokens.dataDir).add("hall", "viewer");
	assert.deepEqual([await statusOf(withTokens, hall), await statusOf(withTokens, monitorToken)], [200, 200]);
	await tokensIn(withTokens.dataDir).remove("hall");
	assert.equal(await statusOf(withTokens, hall), 401);
});

test("keeps all changes of concurrent commands and of the page", async (t) => {
	const { dataDir, gateway } = await runMade(t);
	const { device, monitor } = gateway.gateway.tokens;
	const names = ["anna", "ben", "cora"];
	await Promise.all([
		...names.map((name) => tokensIn(dataDir).add(name, "viewer")),
		tokensIn(dataDir).change((file) => rotate(file ?? assert.fail("no tokens"), ["device"])),
		...[0, 1, 2].map(async (index) => {
			const body = { name: `page ${index}`, role: "viewer" };
			assert.equal((await gateway.api("POST", "/api/tokens", body, monitor)).status, 201);
		}),
	]);
	const file = await readTokenFile(disk, tokenPath(dataDir));
	const expected = [...names, "page 0", "page 1", "page 2"];
	assert.deepEqual(file?.named?.map(({ name }) => name).sort(), expected);
	assert.equal(file?.previous?.device, device);
});

describe("missing tokens in a used folder prevent the start", () => {
	/** Message of the failed start. */
	async function rejection(t: TestContext, dataDir: string): Promise<string> {
		const error = await runGateway(t, { ...made, dataDir }).catch((error: unknown) => error);
		assert.ok(error instanceof StartError, String(error));
		return error.message;
	}

	test("if they link to an unmounted volume; the link is kept and followed once mounted", async (t) => {
		const [dataDir, volume] = [await temporaryDirectory(t), join(await temporaryDirectory(t), "volume")];
		await symlink(join(volume, "tokens.json"), tokenPath(dataDir));
		assert.match(await rejection(t, dataDir), /tokens\.json is a link to \S+, which is missing/);
		const changed = tokensIn(dataDir).change(() => assert.fail("changed"));
		await assert.rejects(changed, /is a link to \S+, which is missing/);
		assert.equal(await readlink(tokenPath(dataDir)), join(volume, "tokens.json"));
		await mkdir(volume);
		await writeTokenFile(disk, tokenPath(volume), { device: deviceToken, monitor: monitorToken });
		assert.equal(await statusOf(await runGateway(t, { ...made, dataDir }), monitorToken), 200);
	});

	test("if a record of devices, rollouts or changes exists", async (t) => {
		for (const name of ["devices/dev-1-a1b2c3.json", "rollouts/autumn.jsonl", "audit/changes.jsonl"]) {
			const dataDir = await temporaryDirectory(t);
			await mkdir(dirname(join(dataDir, name)));
			await writeFile(join(dataDir, name), "");
			const expected = new RegExp(
				`^${tokenPath(dataDir)} is missing, but \\S+${dirname(name)} is not empty\\. .* npm run token -- --new `,
			);
			assert.match(await rejection(t, dataDir), expected);
			assert.deepEqual(await readdir(dataDir), [dirname(name)]);
		}
	});
});

describe("token rotation", () => {
	test("does not interrupt a running gateway, even for firmware, and is rejected while the previous token is valid", async (t) => {
		const { dataDir, gateway, change } = await runMade(t);
		const old = gateway.gateway.tokens;
		const login = await logIn(gateway.url, old.monitor);
		const stateOf = async () => (await loginOf(gateway.url, login)).status;
		const ownOf = (device: string) => deviceTokenOf(device, "dev-1-a1b2c3");
		// A valid token gets 404, since there is no upload.
		const fetchBlock = (shown: string) => statusOf(gateway, shown, "/ota/firmware.bin");
		assert.equal(await fetchBlock(old.device), 404);
		await change(rotate);
		assert.equal(await fetchBlock(gateway.gateway.tokens.device), 404);
		await assert.rejects(change(rotate), /^StartError: The previous device token is still valid\./);
		const file = await readTokenFile(disk, tokenPath(dataDir));
		assert.ok(file, "no token file");
		const { device, monitor } = file;
		assert.equal(new Set([old.device, old.monitor, device, monitor]).size, 4);
		for (const valid of [device, monitor, old.device, old.monitor, ownOf(old.device), ownOf(device)])
			assert.equal(await statusOf(gateway, valid), 200);
		assert.equal(await stateOf(), 200);

		await change(retire, ["device"]);
		for (const valid of [device, ownOf(device), old.monitor])
			assert.equal(await statusOf(gateway, valid), 200);
		for (const retired of [old.device, ownOf(old.device)])
			assert.equal(await statusOf(gateway, retired), 401);
		await waitUntil(async () => (await fetchBlock(old.device)) === 401);
		await change(retire);
		assert.deepEqual([await statusOf(gateway, old.monitor), await stateOf()], [401, 401]);
		assert.equal((await readTokenFile(disk, tokenPath(dataDir)))?.previous, undefined);
		assert.deepEqual(gateway.gateway.tokens, { device, monitor });
	});

	test("reads two comma-separated tokens from the environment", async (t) => {
		const bothTokens = `the-new-device-token,${deviceToken}`;
		const gateway = await runGateway(t, { deviceToken: bothTokens, monitorToken: undefined });
		assert.notEqual(gateway.gateway.tokens.monitor, monitorToken, "generated");
		for (const valid of ["the-new-device-token", deviceToken, deviceTokenOf(deviceToken, "dev-1-a1b2c3")])
			assert.equal(await statusOf(gateway, valid), 200);
		assert.equal(await statusOf(gateway, bothTokens), 401);
		assert.equal(gateway.gateway.tokens.device, "the-new-device-token");
	});

	test("keeps the last tokens valid while the file is damaged or missing", async (t) => {
		const { dataDir, gateway } = await runMade(t);
		const { monitor } = gateway.gateway.tokens;
		await writeFile(tokenPath(dataDir), "{");
		assert.equal(await statusOf(gateway, monitor), 200);
		const other = "another-monitor-token";
		// Byte order mark and whitespace left by an editor.
		const edited = `\ufeff${JSON.stringify({ device: other, monitor: ` ${other}\n` })}\r\n`;
		await writeFile(tokenPath(dataDir), edited);
		assert.deepEqual([await statusOf(gateway, other), await statusOf(gateway, monitor)], [200, 401]);
	});
});

test("writes the file readable only by the owner of the folder, without leftovers", async (t) => {
	const dataDir = await temporaryDirectory(t);
	const isRoot = process.getuid?.() === 0;
	if (isRoot) await chown(dataDir, 12_345, 12_346);
	await tokensIn(dataDir).add("ben", "user");
	const { uid, gid, mode } = await stat(tokenPath(dataDir));
	assert.equal(mode & 0o777, 0o600);
	if (isRoot) assert.deepEqual([uid, gid], [12_345, 12_346]);
	assert.deepEqual(await readdir(dataDir), ["tokens.json"]);
});
