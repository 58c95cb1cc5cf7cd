import assert from "node:assert/strict";
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, existsSync, openSync, readSync } from "node:fs";
import { mkdir, open, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { WebSocket } from "ws";
import { onEnd } from "../support/cleanup.js";
import {
	bearer,
	Client,
	deviceToken,
	monitorToken,
	runGateway,
	temporaryDirectory,
} from "../support/running.js";
import { fullPipe, printed, startProcess } from "./process.js";

async function ended(child: ChildProcess): Promise<{ code: number | null; said: string }> {
	let said = "";
	child.stderr?.on("data", (chunk) => {
		said += chunk;
	});
	const [code] = await once(child, "close");
	return { code, said };
}

/** Of its standard error. */
async function firstLine({ stderr }: ChildProcess): Promise<string> {
	if (!stderr) throw new Error("no standard error");
	const [line] = await once(createInterface(stderr), "line");
	return line;
}

/** What a pipe holds. @param reader is non-blocking */
function drain(reader: number): string {
	const bytes = Buffer.alloc(64 * 1024);
	let text = "";
	try {
		for (let length = 1; length > 0; text += bytes.toString("latin1", 0, length))
			length = readSync(reader, bytes);
	} catch {
		// It is empty.
	}
	return text;
}

/** What Node runs so that a gateway does this on SIGUSR2, in a timer. */
function withDefect(fault: string): readonly string[] {
	const defect = `data:text/javascript,process.on("SIGUSR2", () => setTimeout(() => { ${fault} }))`;
	return ["--import", "tsx", "--import", defect, "gateway/main.ts"];
}

const noFullDisk = existsSync("/dev/full") ? false : "needs /dev/full";

describe("npm start", () => {
	test("prints a valid login, the devices' address and where the tokens are, and what unsigned firmware means", async (t) => {
		const dataDir = join(await temporaryDirectory(t), "made", "here");
		const lines = await printed(startProcess(t, { DATA_DIR: dataDir }));
		const loginUrl = lines.Dashboard ?? "";
		assert.match(loginUrl, /^http:\/\/127\.0\.0\.1:\d+\/login\?code=\d+\.[\w-]{36}\.[\w-]{43}$/);
		assert.equal((await fetch(loginUrl, { redirect: "manual" })).status, 303);
		assert.equal(lines.Tokens, join(dataDir, "tokens.json"));
		assert.match(lines.Firmware ?? "", /^need not be signed: anyone with the monitor token can put any/);
		const tokens = JSON.parse(await readFile(join(dataDir, "tokens.json"), "utf8"));
		const device = new WebSocket(lines.Devices ?? "", { headers: bearer(tokens.device) });
		await once(device, "open");
		device.terminate();
	});

	for (const signal of ["SIGINT", "SIGTERM"] as const)
		test(`${signal} closes devices with 1012 and ends with exit code 0, even if sent twice in a row`, async (t) => {
			const dataDir = await temporaryDirectory(t);
			const child = startProcess(t, {
				DATA_DIR: dataDir,
				DEVICE_TOKEN: deviceToken,
				MONITOR_TOKEN: monitorToken,
			});
			const { Devices = "" } = await printed(child);
			const device = new Client(Devices, { headers: bearer(deviceToken) });
			await once(device.socket, "open");
			child.kill(signal);
			child.kill(signal);
			assert.equal((await device.closed).code, 1012);
			assert.equal((await ended(child)).code, 0);
			const written = await readdir(dataDir);
			assert.ok(!written.some((name) => name.includes("token")), "given tokens are not written down");
		});

	test("SIGTERM to npm alone stops the gateway, and npm waits for it", async (t) => {
		const DATA_DIR = await temporaryDirectory(t);
		const given = { DEVICE_TOKEN: deviceToken, MONITOR_TOKEN: monitorToken, PORT: "0" };
		// A group of its own, so that a gateway which outlives npm can be ended.
		const npm = spawn("npm", ["start"], {
			detached: true,
			env: { PATH: process.env.PATH, DATA_DIR, npm_config_update_notifier: "false", ...given },
			stdio: ["ignore", "pipe", "ignore"],
		});
		onEnd(t, () => {
			try {
				if (npm.pid !== undefined) process.kill(-npm.pid, "SIGKILL");
			} catch {
				// All of it has ended.
			}
		});
		const { Devices = "" } = await printed(npm);
		const device = new Client(Devices, { headers: bearer(deviceToken) });
		await once(device.socket, "open");
		const exit = once(npm, "exit");
		npm.kill("SIGTERM");
		assert.deepEqual(await exit, [0, null]);
		assert.equal((await device.closed).code, 1012);
		assert.ok(!(await readdir(DATA_DIR)).includes("gateway.lock"), "the folder is still held");
		const next = createServer().listen(Number(new URL(Devices).port), "127.0.0.1");
		t.after(() => next.close());
		await once(next, "listening");
	});

	test("a second signal ends it immediately, even if a device does not close", async (t) => {
		const child = startProcess(t, {
			DATA_DIR: await temporaryDirectory(t),
			DEVICE_TOKEN: deviceToken,
			MONITOR_TOKEN: monitorToken,
		});
		const { Devices = "" } = await printed(child);
		const device = new Client(Devices, { headers: bearer(deviceToken) });
		await once(device.socket, "open");
		device.socket.pause();
		const end = ended(child);
		const again = setInterval(() => child.kill("SIGINT"), 100);
		t.after(() => clearInterval(again));
		assert.equal((await end).code, 1);
		device.socket.terminate();
	});

	test("a defect, in a timer or a promise, ends it with exit code 1 and a line in the log", async (t) => {
		for (const fault of ['throw new Error("planted")', 'Promise.reject(new Error("planted"))']) {
			const program = withDefect(fault);
			const child = startProcess(t, { DATA_DIR: await temporaryDirectory(t) }, { program });
			await printed(child);
			child.kill("SIGUSR2");
			const { code, said } = await ended(child);
			assert.equal(code, 1);
			const { level, err } = JSON.parse(said.trim().split("\n").at(-1) ?? "");
			assert.deepEqual([level, err.message], ["fatal", "planted"]);
		}
	});

	test("a defect ends it even if the log's disk is full", {
		skip: noFullDisk,
		timeout: 60_000,
	}, async (t) => {
		const full = await open("/dev/full", "w");
		t.after(() => full.close());
		const options = { program: withDefect('throw new Error("planted")'), stderr: full.fd };
		const child = startProcess(t, { DATA_DIR: await temporaryDirectory(t) }, options);
		const exit = once(child, "exit");
		await printed(child);
		child.kill("SIGUSR2");
		assert.deepEqual(await exit, [1, null]);
	});

	test("a defect is logged even if the log's pipe is full, once that is read", async (t) => {
		const directory = await temporaryDirectory(t);
		const path = join(directory, "pipe");
		const full = fullPipe(path);
		t.after(() => closeSync(full));
		const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
		t.after(() => closeSync(reader));
		const program = withDefect('process.stdout.write("Defect\\n"); throw new Error("planted")');
		const child = startProcess(t, { DATA_DIR: directory }, { program, stderr: full });
		const exit = once(child, "exit");
		await printed(child);
		child.kill("SIGUSR2");
		assert.ok(child.stdout);
		const [told] = await once(child.stdout.resume(), "data");
		assert.match(String(told), /Defect/);
		const before = drain(reader);
		assert.deepEqual(await exit, [1, null]);
		assert.match(before + drain(reader), /"level":"fatal".*"message":"planted"/);
	});

	for (const [what, environment, sentence] of [
		["a wrong setting", { PORT: "eighty" }, /^PORT is "eighty"; set it to a whole number/],
		["AUTH=off for everyone", { AUTH: "off", HOST: "0.0.0.0" }, /^AUTH=off is for loopback alone/],
		[
			"an address that is not ours",
			{ HOST: "192.0.2.1" },
			/^HOST is 192\.0\.2\.1, which is no address of this/,
		],
		[
			"an address without its interface",
			{ HOST: "fe80::1" },
			/^HOST is fe80::1, which is no address of this/,
		],
		[
			"a data folder that is a file",
			{ DATA_DIR: "package.json" },
			/^DATA_DIR is "\S*package\.json", which cannot be used \(EEXIST\); set it to a folder of its own\./,
		],
		[
			"a data folder where none can be made",
			{ DATA_DIR: "/proc/x" },
			/^DATA_DIR is "\/proc\/x", which cannot be used \(ENOENT\); set it to a folder of its own\./,
		],
		[
			"no certificate",
			{ TLS_CERT: "package.json", TLS_KEY: "package.json" },
			/^TLS_CERT and TLS_KEY cannot be/,
		],
	] as const)
		test(`${what} ends it with one sentence and exit code 1`, async (t) => {
			const environmentOfTest = { DATA_DIR: await temporaryDirectory(t), ...environment };
			const { code, said } = await ended(startProcess(t, environmentOfTest));
			assert.equal(code, 1);
			assert.match(said, sentence);
			assert.equal(said.trim().split("\n").length, 1, said);
		});

	test("keeps running if its log cannot be written, and can be stopped", { skip: noFullDisk }, async (t) => {
		const full = await open("/dev/full", "w");
		t.after(() => full.close());
		const given = { DEVICE_TOKEN: deviceToken, MONITOR_TOKEN: monitorToken };
		const environment = { ...given, DATA_DIR: await temporaryDirectory(t) };
		const child = startProcess(t, environment, { stderr: full.fd });
		const { Devices = "" } = await printed(child);
		const device = new Client(Devices, { headers: bearer(deviceToken) });
		await once(device.socket, "open");
		child.kill("SIGTERM");
		assert.equal((await device.closed).code, 1012);
		const [code] = await once(child, "exit");
		assert.equal(code, 0);
	});

	test("starts if its standard output cannot be written", { skip: noFullDisk }, async (t) => {
		const full = await open("/dev/full", "w");
		t.after(() => full.close());
		const environment = { DATA_DIR: await temporaryDirectory(t) };
		const child = startProcess(t, environment, { stdout: full.fd });
		const exit = once(child, "exit");
		const { url } = JSON.parse(await firstLine(child));
		assert.equal((await fetch(`${url}/healthz`)).status, 200);
		child.kill("SIGTERM");
		const [code] = await exit;
		assert.equal(code, 0);
	});

	test("keeps running if no one reads its standard error, and can be stopped", async (t) => {
		const given = { DEVICE_TOKEN: deviceToken, MONITOR_TOKEN: monitorToken };
		const directory = await temporaryDirectory(t);
		const full = fullPipe(join(directory, "pipe"));
		t.after(() => closeSync(full));
		const child = startProcess(t, { ...given, DATA_DIR: directory }, { stderr: full });
		const { Devices = "" } = await printed(child);
		const exit = once(child, "exit");
		const device = new Client(Devices, { headers: bearer(deviceToken) });
		await once(device.socket, "open");
		child.kill("SIGTERM");
		const [code] = await exit;
		assert.equal(code, 0);
	});

	for (const [name, environment, sentence] of [
		[
			"tokens.json",
			{},
			/tokens\.json cannot be read or written \(tokens\.json is not a regular file\); set DATA_DIR/,
		],
		["gateway.lock", {}, /which cannot be used \(gateway\.lock is not a regular file\); set it to a folder/],
		["key.pem", { TLS_CERT: "package.json", TLS_KEY: "" }, /^TLS_KEY is "\S+key\.pem", which cannot be read/],
		["keys.pem", { RELEASE_KEYS: "" }, /^RELEASE_KEYS is "\S+keys\.pem", which cannot be read/],
	] as const)
		test(`a named pipe as ${name} ends it with one sentence and exit code 1`, {
			timeout: 60_000,
		}, async (t) => {
			const DATA_DIR = await temporaryDirectory(t);
			const pipe = join(DATA_DIR, name);
			execFileSync("mkfifo", [pipe]);
			const given = Object.entries(environment).map(([setting, value]) => [setting, value || pipe]);
			const child = startProcess(t, { DATA_DIR, ...Object.fromEntries(given) });
			const { code, said } = await ended(child);
			assert.equal(code, 1, said);
			assert.match(said, sentence);
			assert.equal(said.trim().split("\n").length, 1, said);
		});

	test("starts without what is kept in named pipes in place of its files", { timeout: 60_000 }, async (t) => {
		const DATA_DIR = await temporaryDirectory(t);
		const files = [
			"ended-logins.json",
			"firmware/upload.json",
			"releases/catalog.json",
			"rollouts/one/plan.json",
			"devices/dev-1-a1b2c3.json",
			"crashes/dev-1-a1b2c3.json",
		];
		for (const file of files) {
			await mkdir(dirname(join(DATA_DIR, file)), { recursive: true });
			execFileSync("mkfifo", [join(DATA_DIR, file)]);
		}
		const child = startProcess(t, { DATA_DIR, RELEASES_DIR: join(DATA_DIR, "releases") });
		const { Dashboard = "" } = await printed(child);
		assert.equal((await fetch(new URL("/healthz", Dashboard))).status, 200);
		child.kill("SIGTERM");
		const { code, said } = await ended(child);
		assert.equal(code, 0);
		for (const file of ["ended-logins.json", "upload.json", "catalog.json", "plan.json"])
			assert.ok(said.includes(`${file} is not a regular file`), said);
	});

	test("a damaged certificate ends it with one sentence and exit code 1", async (t) => {
		const directory = await temporaryDirectory(t);
		const TLS_CERT = join(directory, "cert.pem");
		await writeFile(TLS_CERT, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
		const { code, said } = await ended(startProcess(t, { DATA_DIR: directory, TLS_CERT, TLS_KEY: TLS_CERT }));
		assert.equal(code, 1);
		assert.match(
			said,
			/^TLS_CERT and TLS_KEY cannot be used \(.+\); set them to a certificate and its key in PEM\.\n$/,
		);
	});

	test("options end it with one sentence and exit code 1: they would be ignored", async (t) => {
		const { code, said } = await ended(
			startProcess(t, { DATA_DIR: await temporaryDirectory(t) }, { words: ["--port", "1"] }),
		);
		assert.equal(code, 1);
		assert.match(said, /^"--port" is not understood here: settings come from the environment, such as PORT=/);
	});

	test("a port in use ends it with one sentence and exit code 1", async (t) => {
		const other = createServer().listen(0, "127.0.0.1");
		t.after(() => other.close());
		await once(other, "listening");
		const address = other.address();
		const PORT = String(typeof address === "object" ? address?.port : "");
		const DATA_DIR = await temporaryDirectory(t);
		const draft = join(DATA_DIR, "firmware", "upload.1.tmp");
		await mkdir(dirname(draft));
		await writeFile(draft, "what the gateway that has the port is just receiving");
		const { code, said } = await ended(startProcess(t, { DATA_DIR, PORT }));
		assert.equal(code, 1);
		assert.equal((await stat(draft)).isFile(), true, "another gateway's data was touched");
		assert.equal(
			said,
			`127.0.0.1:${PORT} is in use by another program; stop that, or set PORT to a free port.\n`,
		);
	});
});

describe("the tokens", () => {
	const made = { deviceToken: undefined, monitorToken: undefined };

	test("are made at the first start, readable by this user only, and kept", async (t) => {
		const dataDir = join(await temporaryDirectory(t), "data");
		const { gateway } = await runGateway(t, { ...made, dataDir });
		const { tokens } = gateway;
		const path = join(dataDir, "tokens.json");
		assert.equal((await stat(path)).mode & 0o777, 0o600);
		assert.deepEqual(JSON.parse(await readFile(path, "utf8")), gateway.tokens);
		assert.notEqual(gateway.tokens.device, gateway.tokens.monitor);
		const written = (await readdir(dataDir)).filter((name) => name.includes("token"));
		assert.deepEqual(written, ["tokens.json"]);
		for (const entry of await readdir(dataDir, { withFileTypes: true, recursive: true }))
			if (entry.isDirectory())
				assert.equal(
					(await stat(join(entry.parentPath ?? entry.path, entry.name))).mode & 0o777,
					0o700,
					entry.name,
				);
		assert.equal((await stat(dataDir)).mode & 0o777, 0o700);
		await gateway.close();
		assert.deepEqual((await runGateway(t, { ...made, dataDir })).gateway.tokens, tokens);
	});

	test("a set one takes precedence over the stored one", async (t) => {
		const { gateway } = await runGateway(t, { ...made, deviceToken });
		assert.equal(gateway.tokens.device, deviceToken);
		assert.notEqual(gateway.tokens.monitor, monitorToken);
	});

	test("in a damaged file stop the start, and are not replaced silently", async (t) => {
		const dataDir = await temporaryDirectory(t);
		for (const text of ["", "{", '{"device":"short","monitor":"short"}', "null"]) {
			await writeFile(join(dataDir, "tokens.json"), text);
			await assert.rejects(runGateway(t, { ...made, dataDir }), /tokens\.json does not hold the tokens/);
		}
	});
});

test("TLS_CERT and TLS_KEY make it https and wss", async (t) => {
	const directory = await temporaryDirectory(t);
	const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")];
	execFileSync(
		"openssl",
		["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"].concat([
			"-subj",
			"/CN=localhost",
			"-addext",
			"subjectAltName=IP:127.0.0.1",
			"-keyout",
			key,
			"-out",
			cert,
		]),
		{ stdio: "ignore" },
	);
	const tls = { key: await readFile(key), cert: await readFile(cert) };
	const gateway = await runGateway(t, { tls });
	assert.match(gateway.url, /^https:/);
	const device = await gateway.device({}, { ca: tls.cert });
	assert.equal(device.socket.readyState, device.socket.OPEN);
});

test("nothing of NATS and of gateway/cluster is loaded without NATS_URL", async (t) => {
	const script = `import { Session } from "node:inspector/promises";
		await import("./gateway/main.ts");
		const session = new Session();
		session.connect();
		let urls = "";
		session.on("Debugger.scriptParsed", ({ params }) => { urls += params.url + "\\n"; });
		await session.post("Debugger.enable");
		console.log(urls);
		process.kill(process.pid, "SIGTERM");`;
	const words = ["--import", "tsx", "--input-type=module", "--eval", script];
	const areLoaded = async (environment: Readonly<Record<string, string>>) => {
		const env = { PATH: process.env.PATH, DATA_DIR: await temporaryDirectory(t), PORT: "0", ...environment };
		const { stdout } = await promisify(execFile)(process.execPath, words, { env });
		const parts = ["gateway/sessions/", "gateway/cluster/", "@nats-io/"];
		return parts.map((part) => stdout.includes(part));
	};
	assert.deepEqual(await areLoaded({}), [true, false, false]);
	assert.deepEqual(await areLoaded({ NATS_URL: "nats://127.0.0.1:1" }), [true, true, true]);
});
