import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import disk, { chown, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, type TestContext, test } from "node:test";
import { deviceTokenOf } from "../../../gateway/access/secrets.js";
import { parseTokens, tokenPath, writeTokenFile } from "../../../gateway/access/tokens.js";
import { StartError } from "../../../gateway/problem.js";
import { sampleReport } from "../../../scripts/api/sample-report.js";
import { retire, rotate } from "../../../scripts/token/rotation.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { entryPoint } from "../../support/entry-point.js";
import { nextEvent, waitUntil } from "../../support/eventually.js";
import {
	bearer,
	deviceToken,
	monitorToken,
	type RunningGateway,
	reportWithVolume,
	runGateway,
} from "../../support/running.js";

const made = { deviceToken: undefined, monitorToken: undefined };
const own = bearer(deviceTokenOf(deviceToken, "dev-1-a1b2c3"));

/** Runs `npm run token` with only PATH from this environment. */
async function token(environment: Readonly<Record<string, string>>, ...words: readonly string[]) {
	const child = spawn(process.execPath, [...entryPoint("scripts/token.ts"), ...words], {
		env: { PATH: process.env.PATH, ...environment },
		stdio: ["ignore", "pipe", "pipe"],
	});
	const said = Promise.all([text(child.stdout), text(child.stderr)]);
	const [code] = await nextEvent(child, "close");
	const [output, error] = await said;
	return { code, output: output.trim(), error: error.trim() };
}

async function kept(dataDir: string): Promise<Record<string, string>> {
	return JSON.parse(await readFile(join(dataDir, "tokens.json"), "utf8"));
}

async function statusOf({ url }: RunningGateway, shown: string): Promise<number> {
	return (await fetch(`${url}/ota/status`, { headers: bearer(shown) })).status;
}

/** Gateway with generated tokens. */
async function runMade(t: TestContext) {
	const dataDir = await temporaryDirectory(t);
	return { dataDir, gateway: await runGateway(t, { ...made, dataDir }) };
}

describe("own token of a device", () => {
	test("identifies the device without a header", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const device = await gateway.device(own);
		assert.equal((await monitor.change("connected")).deviceId, "dev-1-a1b2c3");
		device.send(sampleReport("DEV-1"));
		assert.equal((await monitor.change("identified")).deviceId, "dev-1-a1b2c3");
		await gateway.device({ ...own, "Device-Id": "dev-1-a1b2c3" });
		await monitor.change("replaced");
	});

	test("is rejected for another device", async (t) => {
		const gateway = await runGateway(t);
		const { status, body } = await gateway.refused("/device", { ...own, "Device-Id": "dev-1-000002" });
		assert.equal(status, 403);
		assert.match(JSON.parse(body).detail, /for dev-1-a1b2c3 only/);
	});

	test("closes the connection of a device that reports another id", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		for (const message of [
			reportWithVolume(5, "dev-1-000002"),
			{ type: "command_error", deviceId: "dev-1-000002", command: "x", code: "busy", message: "wait" },
		]) {
			const device = await gateway.device(own);
			device.send(message);
			assert.deepEqual(await device.closed, {
				code: 1008,
				reason: "this token is valid for dev-1-a1b2c3 only",
			});
			await monitor.change("connected");
			assert.equal((await monitor.next()).reason, "disconnected");
		}
	});

	test("fetches firmware, and opens no monitor route", async (t) => {
		const gateway = await runGateway(t);
		assert.equal((await fetch(`${gateway.url}/ota/catalog`, { headers: own })).status, 200);
		assert.equal((await fetch(`${gateway.url}/ota/upload`, { method: "POST", headers: own })).status, 401);
		assert.equal((await gateway.refused("/monitor", own)).status, 401);
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
			assert.equal((await gateway.refused("/device", bearer(shown))).status, 401, shown);
	});

	test("is printed by npm run token, and not stored", async (t) => {
		const { dataDir, gateway } = await runMade(t);
		const { output, code } = await token({ DATA_DIR: dataDir }, "dev-1-7cdfa1a1b2c3");
		assert.deepEqual([output, code], [deviceTokenOf(gateway.gateway.tokens.device, "dev-1-7cdfa1a1b2c3"), 0]);
		await gateway.device(bearer(output));
		assert.doesNotMatch(await readFile(join(dataDir, "tokens.json"), "utf8"), /dev-1/);
		const given = await token({ DATA_DIR: dataDir, DEVICE_TOKEN: deviceToken }, "dev-1-7cdfa1a1b2c3");
		assert.equal(given.output, deviceTokenOf(deviceToken, "dev-1-7cdfa1a1b2c3"));
		assert.equal(given.error, "");
		const none = await token({ DATA_DIR: dataDir }, "kitchen");
		assert.deepEqual([none.output, none.code], ["", 1]);
		assert.match(none.error, /^"kitchen" is not a default device id/);
		const anyId = await token({ DATA_DIR: dataDir }, "--any-id", "kitchen");
		assert.equal(anyId.output, deviceTokenOf(gateway.gateway.tokens.device, "kitchen"));
		const other = await temporaryDirectory(t);
		const { error } = await token({ DATA_DIR: other }, "dev-1-7cdfa1a1b2c3");
		assert.match(error, /Created .*tokens\.json\. Only a gateway that uses this folder/);
	});
});

test("creates a named read-only token for a viewer, which is revoked with its login", async (t) => {
	const { dataDir, gateway } = await runMade(t);
	const named = (...words: readonly string[]) => token({ DATA_DIR: dataDir }, ...words);
	const { output: viewer, code } = await named("--add", "viewer", "lobby-screen");
	assert.equal(code, 0);
	const body = new URLSearchParams({ token: viewer });
	const login = await fetch(`${gateway.url}/login`, { method: "POST", body, redirect: "manual" });
	const headers = { cookie: login.headers.getSetCookie()[0]?.split(";")[0] ?? "" };
	const answers = async () => {
		const state = await fetch(`${gateway.url}/login/state`, { headers });
		const change = await fetch(`${gateway.url}/api/tokens/anna`, { method: "DELETE", headers });
		return [await statusOf(gateway, viewer), state.status, change.status];
	};
	assert.deepEqual(await answers(), [200, 200, 403]);
	const file = parseTokens(await readFile(tokenPath(dataDir), "utf8"));
	assert.ok(file, "no token file");
	await writeTokenFile(
		disk,
		tokenPath(dataDir),
		retire(rotate(file, ["device", "monitor"]), ["device", "monitor"]),
	);
	assert.deepEqual(await answers(), [200, 200, 403], "affected by a rotation");
	assert.match((await named("--add", "monitor", "lobby-screen")).error, /A token named lobby-screen exists/);
	assert.equal((await named("--remove", "lobby-screen")).code, 0);
	assert.deepEqual(await answers(), [401, 401, 401]);
	const both = { DATA_DIR: dataDir, DEVICE_TOKEN: deviceToken, MONITOR_TOKEN: monitorToken };
	const givenDir = await temporaryDirectory(t);
	const given = await runGateway(t, { dataDir: givenDir, deviceToken, monitorToken });
	const environment = { ...both, DATA_DIR: givenDir };
	const { output: hall, error } = await token(environment, "--add", "viewer", "hall");
	assert.equal(error, "");
	assert.deepEqual([await statusOf(given, hall), await statusOf(given, monitorToken)], [200, 200]);
	await token(environment, "--remove", "hall");
	assert.equal(await statusOf(given, hall), 401);
});

test("keeps all changes of concurrent commands and of the page", async (t) => {
	const { dataDir, gateway } = await runMade(t);
	const { device, monitor } = gateway.gateway.tokens;
	const headers = { ...bearer(monitor), "Content-Type": "application/json" };
	const request = async (method: string, path: string, body?: object) => {
		const response = await fetch(`${gateway.url}/api/tokens${path}`, {
			method,
			headers,
			body: body ? JSON.stringify(body) : null,
		});
		assert.ok(response.ok, await response.text());
	};
	let areRunning = true;
	const names = ["anna", "ben", "cora"];
	const commands = Promise.all(
		[...names.map((name) => ["--add", "viewer", name]), ["--rotate", "device"]].map(async (words) =>
			assert.equal((await token({ DATA_DIR: dataDir }, ...words)).code, 0),
		),
	).finally(() => {
		areRunning = false;
	});
	const expected = [...names];
	for (let each = 0; areRunning; each += 1) {
		await request("POST", "", { name: `page ${each}`, role: "viewer" });
		if (each === 0) expected.push("page 0");
		else await request("DELETE", `/page ${each}`);
	}
	await commands;
	const file = parseTokens(await readFile(tokenPath(dataDir), "utf8"));
	assert.deepEqual(file?.named?.map(({ name }) => name).sort(), expected.sort());
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
		assert.match((await token({ DATA_DIR: dataDir }, "--new")).error, /is a link to \S+, which is missing/);
		assert.equal(await readlink(tokenPath(dataDir)), join(volume, "tokens.json"));
		await mkdir(volume);
		await writeTokenFile(disk, tokenPath(volume), { device: deviceToken, monitor: monitorToken });
		assert.equal(await statusOf(await runGateway(t, { ...made, dataDir }), monitorToken), 200);
	});

	for (const name of ["devices/dev-1-a1b2c3.json", "rollouts/autumn.jsonl", "audit/changes.jsonl"])
		test(`if ${name} exists; npm run token -- --new creates new ones`, async (t) => {
			const dataDir = await temporaryDirectory(t);
			await mkdir(dirname(join(dataDir, name)));
			await writeFile(join(dataDir, name), "");
			const expected = new RegExp(
				`^${tokenPath(dataDir)} is missing, but \\S+${dirname(name)} is not empty\\. .* npm run token -- --new `,
			);
			assert.match(await rejection(t, dataDir), expected);
			assert.match((await token({ DATA_DIR: dataDir }, "dev-1-7cdfa1a1b2c3")).error, expected);
			assert.deepEqual(await readdir(dataDir), [dirname(name)]);
			if (!name.startsWith("audit")) return;
			assert.equal((await token({ DATA_DIR: dataDir }, "--new")).code, 0);
			const { monitor = "" } = await kept(dataDir);
			assert.equal(await statusOf(await runGateway(t, { ...made, dataDir }), monitor), 200);
			assert.match((await token({ DATA_DIR: dataDir }, "--new")).error, /already exists\. Use --rotate/);
		});
});

describe("token rotation", () => {
	test("does not interrupt a running gateway", async (t) => {
		const { dataDir, gateway } = await runMade(t);
		const old = gateway.gateway.tokens;
		const login = await fetch(gateway.loginUrl, { method: "POST", redirect: "manual" });
		const cookie = login.headers.getSetCookie()[0]?.split(";")[0] ?? "";
		const isLoggedIn = async () =>
			(await fetch(`${gateway.url}/login/state`, { headers: { cookie } })).status === 200;
		const ownOld = deviceTokenOf(old.device, "dev-1-a1b2c3");

		assert.equal((await token({ DATA_DIR: dataDir }, "--rotate")).code, 0);
		const { device = "", monitor = "" } = await kept(dataDir);
		assert.equal(
			[old.device, old.monitor, device, monitor].filter((each, i, all) => all.indexOf(each) === i).length,
			4,
		);
		for (const valid of [
			device,
			monitor,
			old.device,
			old.monitor,
			ownOld,
			deviceTokenOf(device, "dev-1-a1b2c3"),
		])
			assert.equal(await statusOf(gateway, valid), 200);
		assert.equal(await isLoggedIn(), true);

		assert.equal((await token({ DATA_DIR: dataDir }, "--retire", "device")).code, 0);
		for (const [shown, status] of [
			[device, 200],
			[deviceTokenOf(device, "dev-1-a1b2c3"), 200],
			[old.device, 401],
			[ownOld, 401],
			[old.monitor, 200],
		] as const)
			assert.equal(await statusOf(gateway, shown), status);
		assert.equal((await token({ DATA_DIR: dataDir }, "--retire")).code, 0);
		assert.equal(await statusOf(gateway, old.monitor), 401);
		assert.equal(await isLoggedIn(), false);
		const { changedAt: _, ...file } = await kept(dataDir);
		assert.deepEqual(file, { device, monitor });
		assert.deepEqual(gateway.gateway.tokens, { device, monitor });
	});

	test("accepts the new token for firmware immediately, and rejects the retired one soon", async (t) => {
		const { dataDir, gateway } = await runMade(t);
		const old = gateway.gateway.tokens;
		const path = tokenPath(dataDir);
		const fetchBlock = async (shown: string) =>
			(await fetch(`${gateway.url}/ota/firmware.bin`, { headers: bearer(shown) })).status;
		// Without an upload a valid token gets 404.
		assert.equal(await fetchBlock(old.device), 404);
		const rotated = rotate({ ...old }, ["device"]);
		await writeTokenFile(disk, path, rotated);
		assert.equal(await fetchBlock(rotated.device), 404);
		await writeTokenFile(disk, path, retire(rotated, ["device"]));
		await waitUntil(async () => (await fetchBlock(old.device)) === 401);
		assert.equal(await fetchBlock(rotated.device), 404);
	});

	test("writes the file atomically, readable only by this user", async (t) => {
		const { dataDir } = await runMade(t);
		await token({ DATA_DIR: dataDir }, "--rotate", "monitor");
		const { previous } = JSON.parse(await readFile(join(dataDir, "tokens.json"), "utf8"));
		assert.deepEqual(Object.keys(previous), ["monitor"]);
		assert.equal((await stat(join(dataDir, "tokens.json"))).mode & 0o777, 0o600);
		assert.equal(
			(await readdir(dataDir)).some((name) => name.endsWith(".tmp")),
			false,
		);
	});

	test("is rejected while the previous token is still valid", async (t) => {
		const { dataDir } = await runMade(t);
		await token({ DATA_DIR: dataDir }, "--rotate", "device");
		const before = await kept(dataDir);
		const { code, error } = await token({ DATA_DIR: dataDir }, "--rotate");
		assert.equal(code, 1);
		assert.match(error, /^The previous device token is still valid\. Retire it first/);
		assert.deepEqual(await kept(dataDir), before);
	});

	test("reads two comma-separated tokens from the environment", async (t) => {
		const both = `the-new-device-token,${deviceToken}`;
		const gateway = await runGateway(t, { deviceToken: both });
		for (const valid of ["the-new-device-token", deviceToken, deviceTokenOf(deviceToken, "dev-1-a1b2c3")])
			assert.equal(await statusOf(gateway, valid), 200);
		assert.equal(await statusOf(gateway, both), 401);
		assert.equal(gateway.gateway.tokens.device, "the-new-device-token");
		const { code, error } = await token({ DEVICE_TOKEN: both }, "--rotate", "device");
		assert.deepEqual(
			[code, /^DEVICE_TOKEN is set\. Change it to the new token, a comma and the old token/.test(error)],
			[1, true],
		);
	});

	test("keeps the last tokens valid while the file is damaged or missing", async (t) => {
		const { dataDir, gateway } = await runMade(t);
		const { monitor } = gateway.gateway.tokens;
		await writeFile(join(dataDir, "tokens.json"), "{");
		assert.equal(await statusOf(gateway, monitor), 200);
		const other = "another-monitor-token";
		// Byte order mark and whitespace left by an editor.
		const edited = `\ufeff${JSON.stringify({ device: other, monitor: ` ${other}\n` })}\r\n`;
		await writeFile(join(dataDir, "tokens.json"), edited);
		assert.equal(await statusOf(gateway, other), 200);
		assert.equal(await statusOf(gateway, monitor), 401);
	});
});

test("keeps the owner of the tokens when root runs the command", {
	skip: process.getuid?.() === 0 ? false : "only root may give files away",
}, async (t) => {
	const dataDir = await temporaryDirectory(t);
	await chown(dataDir, 12_345, 12_346);
	assert.equal((await token({ DATA_DIR: dataDir }, "--add", "user", "ben")).code, 0);
	const { uid, gid, mode } = await stat(tokenPath(dataDir));
	assert.deepEqual([uid, gid, mode & 0o777], [12_345, 12_346, 0o600]);
});
