import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { WebSocket } from "ws";
import { runCommand } from "../support/command-line.js";
import { Client, temporaryDirectory } from "../support/running.js";

function folders(folder: string) {
	return { DATA_DIR: folder, RELEASES_DIR: join(folder, "releases") };
}

test("the demo starts a device of each model, and ends cleanly at one or more Ctrl-C", async (t) => {
	const dataDir = await temporaryDirectory(t);
	const demo = runCommand(t, "scripts/demo.ts", [], { PORT: "0", ...folders(dataDir) });
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

	const ids = /Devices +(\S+), (\S+)/.exec(demo.output())?.slice(1) ?? [];
	const record = (id: string) => readFile(join(dataDir, "devices", `${id}.json`), "utf8");
	for (const id of ids) {
		while (!(await record(id).catch(() => ""))) await setTimeout(10);
		// From now on reports alone come from it, which the gateway saves when it ends.
		monitor.send({
			type: "control_device",
			targetId: id,
			payload: { command: "set_brightness", value: 0.125 },
		});
		await monitor.until(({ message }) => JSON.stringify(message ?? "").includes('"brightness_coef":0.125'));
	}
	// npm passes on what the terminal sends as well; two signals at the same moment would count as one.
	const again = setInterval(() => demo.process.kill("SIGINT"), 1);
	t.after(() => clearInterval(again));
	assert.equal(await demo.exitCode, 0, demo.output());
	clearInterval(again);
	await demo.processesGone();
	assert.doesNotMatch(demo.output(), /uplink dropped/);
	for (const id of ids) {
		assert.match(await record(id), /brightness_coef\\":0\.125/, "what the gateway knew last is on disk");
		const kept = await readdir(join(dataDir, "virtual", id));
		assert.equal(kept.includes("pid"), false, "another process may run this device now");
	}
});

test("the demo refuses options", async (t) => {
	const demo = runCommand(t, "scripts/demo.ts", ["--port", "1"], folders(await temporaryDirectory(t)));
	assert.equal(await demo.exitCode, 1);
	assert.match(demo.output(), /"--port" is not understood here/);
});

test("the demo says what to change if its port is in use", async (t) => {
	const dataDir = await temporaryDirectory(t);
	const first = runCommand(t, "scripts/demo.ts", [], { PORT: "0", ...folders(dataDir) });
	await first.printed(/Ctrl-C/);
	const port = /:(\d+)\/login/.exec(first.output())?.[1] ?? "";
	const other = await temporaryDirectory(t);
	const second = runCommand(t, "scripts/demo.ts", [], { PORT: port, ...folders(other) });
	assert.equal(await second.exitCode, 1);
	assert.match(second.output(), /is in use by another program; stop that, or set PORT/);
	await second.processesGone();
});
