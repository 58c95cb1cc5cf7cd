import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, existsSync, openSync, readSync } from "node:fs";
import { open } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, type TestContext, test } from "node:test";
import { entryPoint } from "../support/entry-point.js";
import { nextEvent } from "../support/eventually.js";
import { endOf, fullPipe, readStartupOutput, startProcess } from "../support/gateway-process.js";
import { bearer, Client, deviceToken, monitorToken, temporaryDirectory } from "../support/running.js";

/** Gateway in an empty folder that has started, with the addresses that it printed. */
async function start(t: TestContext, options: Parameters<typeof startProcess>[2] = {}) {
	const environment = { DEVICE_TOKEN: deviceToken, MONITOR_TOKEN: monitorToken };
	const child = startProcess(t, { ...environment, DATA_DIR: await temporaryDirectory(t) }, options);
	const exit = once(child, "exit");
	const { Devices = "" } = await readStartupOutput(child);
	const connect = async () => {
		const device = new Client(Devices, { headers: bearer(deviceToken) });
		await nextEvent(device.socket, "open");
		return device;
	};
	return { child, exit, connect };
}

/** Descriptor of a file that is always full. */
async function openFull(t: TestContext): Promise<number> {
	const full = await open("/dev/full", "w");
	t.after(() => full.close());
	return full.fd;
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
		const { child, connect } = await start(t);
		const device = await connect();
		device.socket.pause();
		const end = endOf(child);
		const again = setInterval(() => child.kill("SIGINT"), 100);
		t.after(() => clearInterval(again));
		assert.equal((await end).code, 1);
		device.socket.terminate();
	});

	test("exits with code 1 and a log line after an uncaught error or rejection", async (t) => {
		for (const fault of ['throw new Error("planted")', 'Promise.reject(new Error("planted"))']) {
			const { child } = await start(t, { program: withDefect(fault) });
			child.kill("SIGUSR2");
			const { code, said } = await endOf(child);
			assert.equal(code, 1);
			const { level, err } = JSON.parse(said.trim().split("\n").at(-1) ?? "");
			assert.deepEqual([level, err.message], ["fatal", "planted"]);
		}
	});

	test("exits after an uncaught error even if the log's disk is full", {
		skip: noFullDisk,
		timeout: 60_000,
	}, async (t) => {
		const program = withDefect('throw new Error("planted")');
		const { child, exit } = await start(t, { program, stderr: await openFull(t) });
		child.kill("SIGUSR2");
		assert.deepEqual(await exit, [1, null]);
	});

	test("logs an uncaught error once a full log pipe is read", async (t) => {
		const path = join(await temporaryDirectory(t), "pipe");
		const full = fullPipe(path);
		t.after(() => closeSync(full));
		const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
		t.after(() => closeSync(reader));
		const program = withDefect('process.stdout.write("Defect\\n"); throw new Error("planted")');
		const { child, exit } = await start(t, { program, stderr: full });
		child.kill("SIGUSR2");
		assert.ok(child.stdout, "the process has no standard output");
		const [output] = await nextEvent(child.stdout.resume(), "data");
		assert.match(String(output), /Defect/);
		const before = drain(reader);
		assert.deepEqual(await exit, [1, null]);
		assert.match(before + drain(reader), /"level":"fatal".*"message":"planted"/);
	});

	test("keeps running and can be stopped if its log cannot be written", { skip: noFullDisk }, async (t) => {
		const { child, exit, connect } = await start(t, { stderr: await openFull(t) });
		const device = await connect();
		child.kill("SIGTERM");
		assert.equal((await device.closed).code, 1012);
		assert.deepEqual(await exit, [0, null]);
	});

	test("starts if its standard output cannot be written", { skip: noFullDisk }, async (t) => {
		const environment = { DATA_DIR: await temporaryDirectory(t) };
		const child = startProcess(t, environment, { stdout: await openFull(t) });
		const exit = once(child, "exit");
		const { url } = JSON.parse(await firstLine(child));
		assert.equal((await fetch(`${url}/healthz`)).status, 200);
		child.kill("SIGTERM");
		assert.deepEqual(await exit, [0, null]);
	});

	test("exits with code 1 and a one-line message for unsupported options", async (t) => {
		const { code, said } = await endOf(
			startProcess(t, { DATA_DIR: await temporaryDirectory(t) }, { words: ["--port", "1"] }),
		);
		assert.equal(code, 1);
		assert.match(said, /^Unknown argument "--port"\. Settings come from the environment, such as PORT=/);
	});
});
