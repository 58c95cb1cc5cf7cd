import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { WebSocket } from "ws";
import { onEnd } from "../support/cleanup.js";
import { nextEvent } from "../support/eventually.js";
import { endOf, readStartupOutput, startProcess } from "../support/gateway-process.js";
import { listen } from "../support/ports.js";
import {
	bearer,
	Client,
	deviceToken,
	monitorToken,
	runGateway,
	temporaryDirectory,
} from "../support/running.js";

const environment = { DEVICE_TOKEN: deviceToken, MONITOR_TOKEN: monitorToken };

describe("npm start", () => {
	test("prints a login link, the device address, the token file and a warning about unsigned firmware", async (t) => {
		const dataDir = join(await temporaryDirectory(t), "made", "here");
		const lines = await readStartupOutput(startProcess(t, { DATA_DIR: dataDir }));
		const loginUrl = lines.Dashboard ?? "";
		assert.match(loginUrl, /^http:\/\/127\.0\.0\.1:\d+\/login\?code=\d+\.[\w-]{36}\.[\w-]{43}$/);
		assert.equal((await fetch(loginUrl, { method: "POST", redirect: "manual" })).status, 303);
		assert.equal(lines.Tokens, join(dataDir, "tokens.json"));
		assert.match(lines.Firmware ?? "", /^unsigned firmware allowed: anyone with the monitor token/);
		const tokens = JSON.parse(await readFile(join(dataDir, "tokens.json"), "utf8"));
		const device = new WebSocket(lines.Devices ?? "", { headers: bearer(tokens.device) });
		await nextEvent(device, "open");
		device.terminate();
	});

	test("closes devices with 1012 and exits with code 0 on SIGINT, even if sent twice", async (t) => {
		const DATA_DIR = await temporaryDirectory(t);
		const child = startProcess(t, { DATA_DIR, ...environment });
		const { Devices = "" } = await readStartupOutput(child);
		const device = new Client(Devices, { headers: bearer(deviceToken) });
		await nextEvent(device.socket, "open");
		child.kill("SIGINT");
		child.kill("SIGINT");
		assert.equal((await device.closed).code, 1012);
		assert.equal((await endOf(child)).code, 0);
		const written = await readdir(DATA_DIR);
		assert.ok(!written.some((name) => name.includes("token")), "tokens from the environment are stored");
	});

	test("stops the gateway when npm receives SIGTERM, and npm waits for it", async (t) => {
		const DATA_DIR = await temporaryDirectory(t);
		const { PATH } = process.env;
		// Separate process group, to kill a gateway that outlives npm.
		const npm = spawn("npm", ["start"], {
			detached: true,
			env: { PATH, DATA_DIR, npm_config_update_notifier: "false", PORT: "0", ...environment },
			stdio: ["ignore", "pipe", "ignore"],
		});
		onEnd(t, () => {
			try {
				if (npm.pid !== undefined) process.kill(-npm.pid, "SIGKILL");
			} catch {
				// The whole group has exited.
			}
		});
		const { Devices = "" } = await readStartupOutput(npm);
		const device = new Client(Devices, { headers: bearer(deviceToken) });
		await nextEvent(device.socket, "open");
		const exit = once(npm, "exit");
		npm.kill("SIGTERM");
		assert.deepEqual(await exit, [0, null]);
		assert.equal((await device.closed).code, 1012);
		assert.ok(!(await readdir(DATA_DIR)).includes("gateway.lock"), "folder still locked");
		const next = createServer().listen(Number(new URL(Devices).port), "127.0.0.1");
		t.after(() => next.close());
		await nextEvent(next, "listening");
	});

	test("exits with code 1 and a one-line message if the port is in use", async (t) => {
		const PORT = String(await listen(t, createServer()));
		const DATA_DIR = await temporaryDirectory(t);
		const draft = join(DATA_DIR, "firmware", "upload.1.tmp");
		await mkdir(dirname(draft));
		await writeFile(draft, "what the gateway that has the port is just receiving");
		const { code, said } = await endOf(startProcess(t, { DATA_DIR, PORT }));
		assert.equal(code, 1);
		assert.equal((await stat(draft)).isFile(), true, "data of another gateway changed");
		const sentence = "is in use by another program. Stop it, or set PORT to a free port.";
		assert.equal(said, `127.0.0.1:${PORT} ${sentence}\n`);
	});
});

test("generates tokens at the first start, keeps them, and makes files readable only by this user", async (t) => {
	const dataDir = join(await temporaryDirectory(t), "data");
	const made = { deviceToken: undefined, monitorToken: undefined, dataDir };
	const { gateway } = await runGateway(t, made);
	const { tokens } = gateway;
	const path = join(dataDir, "tokens.json");
	assert.deepEqual(JSON.parse(await readFile(path, "utf8")), tokens);
	assert.notEqual(tokens.device, tokens.monitor);
	const written = (await readdir(dataDir)).filter((name) => name.includes("token"));
	assert.deepEqual(written, ["tokens.json"]);
	assert.equal((await stat(path)).mode & 0o777, 0o600);
	for (const name of ["", ...(await readdir(dataDir, { recursive: true }))]) {
		const stats = await stat(join(dataDir, name));
		if (stats.isDirectory()) assert.equal(stats.mode & 0o777, 0o700, name);
	}
	await gateway.close();
	assert.deepEqual((await runGateway(t, made)).gateway.tokens, tokens);
});
