import assert from "node:assert/strict";
import { test } from "node:test";
import { WebSocket } from "ws";
import { runCommand } from "../command-line.js";
import { Client, temporaryDirectory } from "../gateway/running.js";

test("the demo shows a device of each model, and ends whole at a Ctrl-C that npm doubles", async (t) => {
	const dataDir = await temporaryDirectory(t);
	const demo = runCommand(t, "scripts/demo.ts", [], { PORT: "0", DATA_DIR: dataDir });
	await demo.printed(/Ctrl-C ends all of it/);
	const url = /Dashboard\s+(\S+)\/login/.exec(demo.output())?.[1] ?? "";
	const login = await fetch(/Dashboard\s+(\S+)/.exec(demo.output())?.[1] ?? "", { redirect: "manual" });
	const cookie = login.headers.getSetCookie()[0]?.split(";")[0] ?? "";
	const monitor = new Client(`${url.replace("http", "ws")}/monitor`, { headers: { cookie, origin: url } });
	const seen = new Set<unknown>();
	while (seen.size < 2) {
		const frame = await monitor.next();
		for (const { model, connected } of frame.sessions ?? []) if (connected) seen.add(model);
	}
	assert.deepEqual([...seen].sort(), ["DEV-1", "PROTO-1"]);
	assert.equal(monitor.socket.readyState, WebSocket.OPEN);
	demo.process.kill("SIGINT");
	demo.process.kill("SIGINT");
	assert.equal(await demo.exitCode, 0);
	await demo.processesGone();
});

test("the demo takes no options, and says so", async (t) => {
	const demo = runCommand(t, "scripts/demo.ts", ["--port", "1"], { DATA_DIR: await temporaryDirectory(t) });
	assert.equal(await demo.exitCode, 1);
	assert.match(demo.output(), /"--port" is not understood here/);
});

test("the demo says what to change where its port is taken", async (t) => {
	const dataDir = await temporaryDirectory(t);
	const first = runCommand(t, "scripts/demo.ts", [], { PORT: "0", DATA_DIR: dataDir });
	await first.printed(/Ctrl-C/);
	const port = /:(\d+)\/login/.exec(first.output())?.[1] ?? "";
	const second = runCommand(t, "scripts/demo.ts", [], { PORT: port, DATA_DIR: dataDir });
	assert.equal(await second.exitCode, 1);
	assert.match(second.output(), /is in use by another program; stop that, or set PORT/);
	await second.processesGone();
});
