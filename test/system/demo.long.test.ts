import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { findXs } from "../../hosts/virtual/node/xs.js";
import { runCommand } from "../support/command-line.js";
import { runDemo } from "../support/demo.js";
import { eventually, nextEvent, waitUntil } from "../support/eventually.js";
import { bearer, Client, deviceToken, monitorToken, temporaryDirectory } from "../support/running.js";

/** @returns ids of the processes that run its devices, oldest first */
function machinesOf(demo: number | undefined): readonly number[] {
	const list = ["-A", "-o", "pid=,ppid=,args=", "--sort=start_time"];
	return execFileSync("ps", list, { encoding: "utf8" })
		.split("\n")
		.map((line) => line.trim().split(/\s+/))
		.filter(([, parent, program]) => Number(parent) === demo && program?.includes("/machine-"))
		.map(([id]) => Number(id));
}

test("npm run demo", async (t) => {
	const folder = await temporaryDirectory(t);
	const hooks = join(folder, "webhooks.json");
	await writeFile(hooks, JSON.stringify([{ url: "http://127.0.0.1:9/hook", secret: "x".repeat(16) }]));
	const { url, dev, proto, command } = await runDemo(t, folder, { WEBHOOKS_FILE: hooks });
	const headers = bearer(monitorToken);
	const board = `${url}/api/demo/devices/${proto}`;
	const read = async (path: string) => (await fetch(`${url}/api/${path}`, { headers })).json();
	const post = (path: string, body = "", own: Readonly<Record<string, string>> = headers) =>
		fetch(path, { method: "POST", headers: own, body });

	await t.test("prints engine, devices and next steps, and reads the settings of npm start", async () => {
		assert.ok(command.output().includes(`Engine     ${findXs().description}\n`), command.output());
		assert.match(`${dev} ${proto}`, /^dev-1-\w+ proto-1-\w+$/);
		const [, steps = ""] = command.output().split("Try next, on the page of a device:\n");
		assert.match(steps, /^( {2}\d\. .{1,96}\n){5}Press Ctrl-C/);
		assert.equal(Object(await read("webhooks")).webhooks.length, 1);
	});

	await t.test("requires a login and a request from its own page for its boards", async () => {
		for (const path of [`${url}/api/demo`, `${board}/board`])
			for (const own of [{}, bearer(deviceToken)])
				assert.equal((await fetch(path, { headers: own })).status, 401);
		for (const path of [`${board}/input`, `${board}/power-cut`, `${url}/api/demo/releases`]) {
			assert.equal((await post(path, "{}", {})).status, 401, path);
			assert.equal((await post(path, "{}", { Origin: "http://elsewhere.example" })).status, 403, path);
			assert.equal((await fetch(path, { headers })).status, 405, path);
		}
		const response = await fetch(`${url}/api/demo`, { headers });
		assert.equal(response.headers.get("cache-control"), "no-store");
	});

	await t.test("rejects unknown inputs with a message", async () => {
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

	await t.test("releases held inputs when the last page is closed", async (t) => {
		const follow = (signal: AbortSignal) => fetch(`${board}/board`, { headers, signal });
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

	await t.test("restarts a device that crashed, whose page shows the crash", async () => {
		const crashes = async () => Object(await read(`devices/${dev}`)).crashes;
		assert.deepEqual(await crashes(), []);
		const [machine] = machinesOf(command.process.pid);
		assert.ok(machine, "no XS machine runs");
		process.kill(machine, "SIGSEGV");
		await command.printed(new RegExp(`^${dev} crashed, restarting: panic: .+$`, "m"));
		const [crash] = await eventually(crashes, ({ length }) => length > 0);
		assert.equal(crash.kind, "panic");
	});

	await t.test("starts each device once, even if its power is cut twice at once", async () => {
		const cut = () => post(`${board}/power-cut`);
		for (const { status } of await Promise.all([cut(), cut(), cut()])) assert.equal(status, 204);
		assert.equal(machinesOf(command.process.pid).length, 2);
	});

	await t.test("names the setting to change if its port is in use", async (t) => {
		const { port } = new URL(url);
		const other = runCommand(t, "scripts/demo.ts", [], { PORT: port, DATA_DIR: await temporaryDirectory(t) });
		assert.equal(await other.exitCode, 1);
		assert.match(other.output(), /is in use by another program\. Stop it, or set PORT/);
		await other.processesGone();
	});

	await t.test("stores the latest state and ends after one or more Ctrl-C", async (t) => {
		const monitor = new Client(`${url.replace("http", "ws")}/monitor`, { headers });
		await nextEvent(monitor.socket, "open");
		const record = (id: string) => readFile(join(folder, "devices", `${id}.json`), "utf8");
		for (const targetId of [dev, proto]) {
			await waitUntil(() => record(targetId).catch(() => ""));
			// From now on it only sends reports, which the gateway saves when it ends.
			const payload = { command: "set_brightness", value: 0.125 };
			monitor.send({ type: "control_device", targetId, payload });
			await monitor.until(({ message }) => JSON.stringify(message ?? "").includes('"brightness_coef":0.125'));
		}
		// npm forwards the terminal's signal as well; two simultaneous signals would count as one.
		const again = setInterval(() => command.process.kill("SIGINT"), 1);
		t.after(() => clearInterval(again));
		assert.equal(await command.exitCode, 0, command.output());
		clearInterval(again);
		await command.processesGone();
		assert.doesNotMatch(command.output(), /uplink dropped/);
		for (const id of [dev, proto]) {
			assert.match(await record(id), /brightness_coef\\":0\.125/, "the last known state is on disk");
			const kept = await readdir(join(folder, "virtual", id));
			assert.equal(kept.includes("pid"), false, "another process may run this device now");
		}
	});
});
