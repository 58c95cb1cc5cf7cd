import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { WebSocket } from "ws";
import { findXs } from "../../hosts/virtual/node/xs.js";
import { runCommand } from "../support/command-line.js";
import { runDemo } from "../support/demo.js";
import { waitUntil } from "../support/eventually.js";
import { bearer, Client, deviceToken, monitorToken, temporaryDirectory } from "../support/running.js";

function folders(folder: string) {
	return { DATA_DIR: folder, RELEASES_DIR: join(folder, "releases") };
}

/** @returns ids of the processes that run its devices, oldest first */
function machinesOf(demo: number | undefined): readonly number[] {
	const processes = execFileSync("ps", ["-A", "-o", "pid=,ppid=,args=", "--sort=start_time"], {
		encoding: "utf8",
	});
	return processes
		.split("\n")
		.map((line) => line.trim().split(/\s+/))
		.filter(([, parent, program]) => Number(parent) === demo && program?.includes("/machine-"))
		.map(([id]) => Number(id));
}

test("the demo starts a device of each model, and ends cleanly after one or more Ctrl-C", async (t) => {
	const dataDir = await temporaryDirectory(t);
	const demo = runCommand(t, "scripts/demo.ts", [], { PORT: "0", ...folders(dataDir) });
	await demo.printed(/Press Ctrl-C to stop/);
	const url = /Dashboard\s+(\S+)\/login/.exec(demo.output())?.[1] ?? "";
	const login = await fetch(/Dashboard\s+(\S+)/.exec(demo.output())?.[1] ?? "", {
		method: "POST",
		redirect: "manual",
	});
	const cookie = login.headers.getSetCookie()[0]?.split(";")[0] ?? "";
	const monitor = new Client(`${url.replace("http", "ws")}/monitor`, { headers: { cookie, origin: url } });
	const seen = new Set<unknown>();
	while (seen.size < 2) {
		const frame = await monitor.next();
		for (const { model, connected } of frame.sessions ?? []) if (connected) seen.add(model);
	}
	assert.deepEqual([...seen].sort(), ["DEV-1", "PROTO-1"]);
	assert.equal(monitor.socket.readyState, WebSocket.OPEN);

	assert.ok(demo.output().includes(`Engine     ${findXs().description}\n`), demo.output());
	const ids = /Devices +(\S+), (\S+)/.exec(demo.output())?.slice(1) ?? [];
	const record = (id: string) => readFile(join(dataDir, "devices", `${id}.json`), "utf8");
	for (const id of ids) {
		await waitUntil(() => record(id).catch(() => ""));
		// From now on it only sends reports, which the gateway saves when it ends.
		monitor.send({
			type: "control_device",
			targetId: id,
			payload: { command: "set_brightness", value: 0.125 },
		});
		await monitor.until(({ message }) => JSON.stringify(message ?? "").includes('"brightness_coef":0.125'));
	}
	// npm forwards the terminal's signal as well; two simultaneous signals would count as one.
	const again = setInterval(() => demo.process.kill("SIGINT"), 1);
	t.after(() => clearInterval(again));
	assert.equal(await demo.exitCode, 0, demo.output());
	clearInterval(again);
	await demo.processesGone();
	assert.doesNotMatch(demo.output(), /uplink dropped/);
	for (const id of ids) {
		assert.match(await record(id), /brightness_coef\\":0\.125/, "the last known state is on disk");
		const kept = await readdir(join(dataDir, "virtual", id));
		assert.equal(kept.includes("pid"), false, "another process may run this device now");
	}
});

test("the demo suggests next steps in five lines", async (t) => {
	const { command } = await runDemo(t, await temporaryDirectory(t));
	const lines = command.output().split("\n");
	const first = lines.indexOf("Try next, on the page of a device:") + 1;
	assert.deepEqual(
		lines.slice(first, first + 6).map((line) => line.trim().slice(0, 2)),
		["1.", "2.", "3.", "4.", "5.", "Pr"],
	);
	assert.deepEqual(
		lines.slice(first).filter((line) => line.length > 100),
		[],
	);
});

describe("the demo's boards over HTTP", () => {
	const post = (url: string, body = "", headers: Readonly<Record<string, string>> = bearer(monitorToken)) =>
		fetch(url, { method: "POST", headers, body });

	test("require a login and a request from the demo's own page", async (t) => {
		const { url, proto } = await runDemo(t, await temporaryDirectory(t));
		const board = `${url}/api/demo/devices/${proto}`;
		for (const path of [`${url}/api/demo`, `${board}/board`])
			for (const headers of [{}, bearer(deviceToken)])
				assert.equal((await fetch(path, { headers })).status, 401);
		for (const path of [`${board}/input`, `${board}/power-cut`, `${url}/api/demo/releases`]) {
			assert.equal((await post(path, "{}", {})).status, 401, path);
			const foreign = { Origin: "http://elsewhere.example" };
			assert.equal((await post(path, "{}", foreign)).status, 403, path);
			assert.equal((await fetch(path, { headers: bearer(monitorToken) })).status, 405, path);
		}
		const { headers } = await fetch(`${url}/api/demo`, { headers: bearer(monitorToken) });
		assert.equal(headers.get("cache-control"), "no-store");
	});

	test("reject unknown inputs with a message", async (t) => {
		const { url, proto } = await runDemo(t, await temporaryDirectory(t));
		const board = `${url}/api/demo/devices/${proto}`;
		for (const [body, sentence, status] of [
			['{"light":5000}', /light must be an integer from 0 to 4095/, 422],
			['{"rssi":5}', /rssi must be an integer from -100 to 0/, 422],
			["press play", /^Send JSON of at most 4 KiB/, 400],
			["x".repeat(5000), /^Send JSON of at most 4 KiB/, 400],
		] as const) {
			const response = await post(`${board}/input`, body);
			assert.equal(response.status, status);
			assert.match(JSON.parse(await response.text()).detail, sentence);
		}
		const unknown = await post(`${url}/api/demo/devices/dev-1-000000/input`, '{"light":1}');
		assert.equal(unknown.status, 404);
		assert.equal((await post(`${board}/input`, '{"light":1}')).status, 204);
	});

	test("release held inputs when the last page is closed", async (t) => {
		const { url, proto } = await runDemo(t, await temporaryDirectory(t));
		const board = `${url}/api/demo/devices/${proto}`;
		const follow = (signal: AbortSignal) =>
			fetch(`${board}/board`, { headers: bearer(monitorToken), signal });
		const page = new AbortController();
		assert.equal((await follow(page.signal)).headers.get("content-type"), "text/event-stream");
		for (const input of ['{"button":"mute","pressed":true}', '{"touch":true}'])
			assert.equal((await post(`${board}/input`, input)).status, 204);
		page.abort();
		let events = "";
		for await (const text of (await follow(t.signal)).body ?? []) {
			events += Buffer.from(text).toString();
			if (/"pressed":\[\],.*"isTouched":false/.test(events)) return;
		}
	});

	test("restart a device that crashed, and its page shows the crash", async (t) => {
		const { url, dev, command } = await runDemo(t, await temporaryDirectory(t));
		const crashes = async () => {
			const response = await fetch(`${url}/api/devices/${dev}`, { headers: bearer(monitorToken) });
			return JSON.parse(await response.text()).crashes;
		};
		assert.deepEqual(await crashes(), []);
		const [machine] = machinesOf(command.process.pid);
		assert.ok(machine, "no XS machine runs");
		process.kill(machine, "SIGSEGV");
		await command.printed(new RegExp(`^${dev} crashed, restarting: panic: .+$`, "m"));
		for (;;) {
			const [crash] = await crashes();
			if (crash) return assert.equal(crash.kind, "panic");
			await setTimeout(100, undefined, { signal: t.signal });
		}
	});

	test("start each device once, even if its power is cut twice at once", async (t) => {
		const { url, proto, command } = await runDemo(t, await temporaryDirectory(t));
		const cut = () => post(`${url}/api/demo/devices/${proto}/power-cut`);
		for (const { status } of await Promise.all([cut(), cut(), cut()])) assert.equal(status, 204);
		assert.equal(machinesOf(command.process.pid).length, 2);
	});
});

test("the demo rejects options", async (t) => {
	const demo = runCommand(t, "scripts/demo.ts", ["--port", "1"], folders(await temporaryDirectory(t)));
	assert.equal(await demo.exitCode, 1);
	assert.match(demo.output(), /Unknown argument "--port"/);
});

test("the demo names the setting to change if its port is in use", async (t) => {
	const dataDir = await temporaryDirectory(t);
	const first = runCommand(t, "scripts/demo.ts", [], { PORT: "0", ...folders(dataDir) });
	await first.printed(/Ctrl-C/);
	const port = /:(\d+)\/login/.exec(first.output())?.[1] ?? "";
	const other = await temporaryDirectory(t);
	const second = runCommand(t, "scripts/demo.ts", [], { PORT: port, ...folders(other) });
	assert.equal(await second.exitCode, 1);
	assert.match(second.output(), /is in use by another program\. Stop it, or set PORT/);
	await second.processesGone();
});
