import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { extensions } from "../../gateway/extensions.js";
import { Gateway, type GatewayOptions } from "../../gateway/gateway.js";
import { deviceAddresses } from "../../gateway/http/server.js";
import { StartError } from "../../gateway/problem.js";
import { readSettings } from "../../gateway/settings.js";
import { createLog } from "../../gateway/telemetry/log.js";
import { systemError } from "../support/disk.js";
import { deferred, nextEvent, waitUntil } from "../support/eventually.js";
import { freePort } from "../support/ports.js";
import { bearer, Client, deviceToken, runGateway, temporaryDirectory } from "../support/running.js";

/** Gateway that listens while loading its records, with early clients over HTTP and WebSocket. */
async function starting(t: TestContext) {
	const port = await freePort();
	const reading = deferred();
	// Rejection may precede the gateway's await.
	reading.promise.catch(() => {});
	const listening = runGateway(t, {
		port,
		// Disables connection timeouts.
		limits: { requestHeadersMs: 300_000 },
		extensions: [...extensions, () => ({ open: () => reading.promise })],
	});
	listening.catch(() => {});
	await waitUntil(() => isOpen(port));
	const state = { answers: 0 };
	const noteAnswer = () => {
		state.answers += 1;
	};
	const answer = fetch(`http://127.0.0.1:${port}/healthz`).finally(noteAnswer);
	const device = new Client(`ws://127.0.0.1:${port}/device`, { headers: bearer(deviceToken) });
	device.socket.on("open", noteAnswer);
	t.after(() => device.socket.terminate());
	// Time for a response to both.
	for (let time = 0; time < 20; time += 1)
		assert.ok(await isOpen(port), `the port closed after ${time} attempts`);
	assert.equal(state.answers, 0);
	const { resolve, reject } = reading;
	return { listening, answer, device, port, resolve, reject };
}

async function isOpen(port: number): Promise<boolean> {
	const socket = connect(port, "127.0.0.1");
	const outcome = await Promise.race([
		once(socket, "connect").then(() => true),
		once(socket, "close").then(() => false),
	]).catch(() => false);
	socket.destroy();
	return outcome;
}

describe("client that connects while the gateway loads its records", () => {
	test("waits until it is accepted", async (t) => {
		const { listening, answer, device, resolve } = await starting(t);
		resolve();
		await listening;
		assert.equal((await answer).status, 200);
		const rejected = device.closed.then(() => assert.fail("it was not let in"));
		await Promise.race([once(device.socket, "open"), rejected]);
	});

	test("is disconnected if the gateway cannot start, which frees the port", async (t) => {
		const { listening, answer, device, port, reject } = await starting(t);
		const slow = connect(port, "127.0.0.1");
		await nextEvent(slow, "connect");
		slow.write("GET /heal");
		const cut = once(slow, "close").catch(() => {});
		const rejected = assert.rejects(answer);
		reject(systemError("EROFS"));
		await assert.rejects(listening, StartError);
		await rejected;
		await device.closed;
		await cut;
		assert.equal(await isOpen(port), false);
	});
});

describe("start is prevented, with a remedy, by", { timeout: 20_000 }, () => {
	/** Starts in a folder with the settings of these variables. @returns the message of the failure */
	async function problemOf(dataDir: string, environment: Readonly<Record<string, string>>): Promise<string> {
		try {
			const settings = readSettings({ DATA_DIR: dataDir, PORT: "0", ...environment });
			await new Gateway({ ...settings, log: createLog("silent") }).listen();
		} catch (error) {
			assert.ok(error instanceof StartError, `failed with ${error}`);
			return error.message;
		}
		return "started";
	}

	const pem = "package.json";
	for (const [what, environment, sentence] of [
		["another computer's HOST", { HOST: "192.0.2.1" }, /^HOST 192\.0\.2\.1 is not an address of this/],
		[
			"a link-local HOST without an interface",
			{ HOST: "fe80::1", PUBLIC_URL: "http://localhost" },
			/^HOST fe80::1 is not an address of this/,
		],
		[
			"a DATA_DIR that is a file",
			{ DATA_DIR: pem },
			/^Cannot use DATA_DIR .+ \(EEXIST\)\. Set it to a folder/,
		],
		[
			"a DATA_DIR that cannot be created",
			{ DATA_DIR: "/proc/x" },
			/^Cannot use DATA_DIR .+ \(ENOENT\)\. Set it/,
		],
		[
			"a TLS_CERT that is none",
			{ TLS_CERT: pem, TLS_KEY: pem },
			/^Cannot use TLS_CERT and TLS_KEY \(.+\)\. Set/,
		],
	] as const)
		test(what, async (t) => {
			assert.match(await problemOf(await temporaryDirectory(t), environment), sentence);
		});

	test("another gateway in its data folder", async (t) => {
		const { dataDir } = await runGateway(t);
		assert.match(await problemOf(dataDir, {}), /^DATA_DIR "\S+" is in use by process \d+ on /);
	});

	for (const [name, environment, sentence] of [
		["tokens.json", {}, /\(tokens\.json is not a regular file\)\. Set DATA_DIR/],
		[
			"gateway.lock",
			{},
			/^Cannot use DATA_DIR .+ \(gateway\.lock is not a regular file\)\. Set it to a folder/,
		],
		["firmware", {}, /^Cannot use DATA_DIR .+ \(EEXIST\)\. Set it to a folder of its own\.$/],
		["key.pem", { TLS_CERT: pem, TLS_KEY: "" }, /^Cannot read "\S+key\.pem" \(.+\)\. Set TLS_KEY to/],
		["keys.pem", { RELEASE_KEYS: "" }, /^Cannot read "\S+keys\.pem" \(.+\)\. Set RELEASE_KEYS to a PEM file/],
	] as const)
		test(`${name} that is a named pipe`, async (t) => {
			const dataDir = await temporaryDirectory(t);
			const pipe = join(dataDir, name);
			execFileSync("mkfifo", [pipe]);
			const variables = Object.entries(environment).map(([setting, value]) => [setting, value || pipe]);
			assert.match(await problemOf(dataDir, Object.fromEntries(variables)), sentence);
		});
});

test("starts without records that are named pipes, and logs them", { timeout: 20_000 }, async (t) => {
	const dataDir = await temporaryDirectory(t);
	const files = ["firmware/upload.json", "releases/catalog.json", "rollouts/one.jsonl", "devices/d-1.json"];
	for (const file of files) {
		await mkdir(dirname(join(dataDir, file)), { recursive: true });
		execFileSync("mkfifo", [join(dataDir, file)]);
	}
	let log = "";
	const write = (line: string) => {
		log += line;
	};
	const releasesDir = join(dataDir, "releases");
	const { api } = await runGateway(t, { dataDir, releasesDir, log: createLog("info", { write }) });
	assert.equal((await api("GET", "/ota/catalog")).status, 200);
	for (const file of ["upload.json", "catalog.json", "d-1.json"])
		assert.ok(log.includes(`${file} is not a regular file`), log);
});

test("an address unreachable for devices prevents the start", () => {
	const requireProblem = (options: Pick<GatewayOptions, "host" | "publicUrl">, name: string) =>
		assert.throws(() => new Gateway(options), {
			name: "StartError",
			message: new RegExp(`^${name} results in the address wss?:.* Set PUBLIC_URL`),
		});
	const publicUrl = new URL("https://gateway.example");
	for (const host of ["::1", "::ffff:10.0.0.1", "fe80::1%eth0", "smart_home.lan"]) {
		requireProblem({ host }, "HOST");
		const addresses = deviceAddresses({ host, publicUrl, tls: undefined }, 80);
		assert.deepEqual(addresses, ["wss://gateway.example/device"]);
	}
	for (const url of [
		"http://smart_home.lan:8080",
		"http://[2001:db8::1]:8080",
		"https://gateway.example:0",
		`https://gateway.example/${"x".repeat(256)}`,
	])
		requireProblem({ publicUrl: new URL(url) }, "PUBLIC_URL");
});
