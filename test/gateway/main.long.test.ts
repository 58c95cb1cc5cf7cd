import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, existsSync, openSync, readSync } from "node:fs";
import { open } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { entryPoint } from "../support/entry-point.js";
import { nextEvent } from "../support/eventually.js";
import { fullPipe, readStartupOutput, startProcess } from "../support/gateway-process.js";
import { bearer, Client, deviceToken, monitorToken, temporaryDirectory } from "../support/running.js";

async function ended(child: ChildProcess): Promise<{ code: number | null; said: string }> {
	let said = "";
	child.stderr?.on("data", (chunk) => {
		said += chunk;
	});
	const [code] = await nextEvent(child, "close");
	return { code, said };
}

/** Standard error. */
async function firstLine({ stderr }: ChildProcess): Promise<string> {
	if (!stderr) throw new Error("no standard error");
	const [line] = await nextEvent(createInterface(stderr), "line");
	return line;
}

/** Reads everything buffered in a pipe. @param reader non-blocking */
function drain(reader: number): string {
	const bytes = Buffer.alloc(64 * 1024);
	let text = "";
	try {
		for (let length = 1; length > 0; text += bytes.toString("latin1", 0, length))
			length = readSync(reader, bytes);
	} catch {
		// Empty pipe.
	}
	return text;
}

/** Node options that execute the code in a timer on SIGUSR2. */
function withDefect(fault: string): readonly string[] {
	const defect = `data:text/javascript,process.on("SIGUSR2", () => setTimeout(() => { ${fault} }))`;
	return ["--import", defect, ...entryPoint("gateway/main.ts")];
}

const noFullDisk = existsSync("/dev/full") ? false : "needs /dev/full";

describe("npm start", { concurrency: availableParallelism() }, () => {
	test("exits immediately at a second signal, even if a device does not close", async (t) => {
		const child = startProcess(t, {
			DATA_DIR: await temporaryDirectory(t),
			DEVICE_TOKEN: deviceToken,
			MONITOR_TOKEN: monitorToken,
		});
		const { Devices = "" } = await readStartupOutput(child);
		const device = new Client(Devices, { headers: bearer(deviceToken) });
		await nextEvent(device.socket, "open");
		device.socket.pause();
		const end = ended(child);
		const again = setInterval(() => child.kill("SIGINT"), 100);
		t.after(() => clearInterval(again));
		assert.equal((await end).code, 1);
		device.socket.terminate();
	});

	test("exits with code 1 and a log line after an uncaught error or rejection", async (t) => {
		for (const fault of ['throw new Error("planted")', 'Promise.reject(new Error("planted"))']) {
			const program = withDefect(fault);
			const child = startProcess(t, { DATA_DIR: await temporaryDirectory(t) }, { program });
			await readStartupOutput(child);
			child.kill("SIGUSR2");
			const { code, said } = await ended(child);
			assert.equal(code, 1);
			const { level, err } = JSON.parse(said.trim().split("\n").at(-1) ?? "");
			assert.deepEqual([level, err.message], ["fatal", "planted"]);
		}
	});

	test("exits after an uncaught error even if the log's disk is full", {
		skip: noFullDisk,
		timeout: 60_000,
	}, async (t) => {
		const full = await open("/dev/full", "w");
		t.after(() => full.close());
		const options = { program: withDefect('throw new Error("planted")'), stderr: full.fd };
		const child = startProcess(t, { DATA_DIR: await temporaryDirectory(t) }, options);
		const exit = once(child, "exit");
		await readStartupOutput(child);
		child.kill("SIGUSR2");
		assert.deepEqual(await exit, [1, null]);
	});

	test("logs an uncaught error once a full log pipe is read", async (t) => {
		const directory = await temporaryDirectory(t);
		const path = join(directory, "pipe");
		const full = fullPipe(path);
		t.after(() => closeSync(full));
		const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
		t.after(() => closeSync(reader));
		const program = withDefect('process.stdout.write("Defect\\n"); throw new Error("planted")');
		const child = startProcess(t, { DATA_DIR: directory }, { program, stderr: full });
		const exit = once(child, "exit");
		await readStartupOutput(child);
		child.kill("SIGUSR2");
		assert.ok(child.stdout, "the process has no standard output");
		const [output] = await nextEvent(child.stdout.resume(), "data");
		assert.match(String(output), /Defect/);
		const before = drain(reader);
		assert.deepEqual(await exit, [1, null]);
		assert.match(before + drain(reader), /"level":"fatal".*"message":"planted"/);
	});

	test("keeps running and can be stopped if its log cannot be written", { skip: noFullDisk }, async (t) => {
		const full = await open("/dev/full", "w");
		t.after(() => full.close());
		const given = { DEVICE_TOKEN: deviceToken, MONITOR_TOKEN: monitorToken };
		const environment = { ...given, DATA_DIR: await temporaryDirectory(t) };
		const child = startProcess(t, environment, { stderr: full.fd });
		const { Devices = "" } = await readStartupOutput(child);
		const device = new Client(Devices, { headers: bearer(deviceToken) });
		await nextEvent(device.socket, "open");
		child.kill("SIGTERM");
		assert.equal((await device.closed).code, 1012);
		const [code] = await nextEvent(child, "exit");
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

	test("exits with code 1 and a one-line message for unsupported options", async (t) => {
		const { code, said } = await ended(
			startProcess(t, { DATA_DIR: await temporaryDirectory(t) }, { words: ["--port", "1"] }),
		);
		assert.equal(code, 1);
		assert.match(said, /^Unknown argument "--port"\. Settings come from the environment, such as PORT=/);
	});
});
