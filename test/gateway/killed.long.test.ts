/**
 * Kills a gateway process with SIGKILL at least fifty times, at random times during uploads, updates and reports, on
 * one data folder. TEST_SEED selects the random times.
 */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { build } from "esbuild";
import type { FrameOf } from "../../gateway/api/frames.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { nextEvent } from "../support/eventually.js";
import { readStartupOutput, startProcess } from "../support/gateway-process.js";
import { makeImage } from "../support/images.js";
import { Random } from "../support/random.js";
import { bearer, Client } from "../support/running.js";
import { sampleReport, withField } from "../support/sample-report.js";
import { seed, seedNote } from "../support/seed.js";

const kills = 50;
/** Limit for slow computers, on which less happens before each kill. */
const killsAtMost = 200;
const deviceIds = ["dev-1-000001", "dev-1-000002", "dev-1-000003"];

/** Expected state of the gateway. */
interface Expected {
	/** Versions that each device has run, by device id. */
	readonly ran: Map<string, Set<string>>;
	readonly runs: Map<string, string>;
	/** Latest version whose update was acknowledged. */
	readonly acknowledged: Map<string, string>;
	/** Versions of started uploads, and their count at the last acknowledgment. */
	readonly uploads: string[];
	kept: number;
}

test("loses no record and leaves none truncated when killed at any time", async (t) => {
	t.diagnostic(seedNote);
	const draw = new Random(seed);
	const random = () => draw.next();
	const program = await bundle(t);
	const dataDir = await temporaryDirectory(t);
	const expected: Expected = {
		ran: new Map(),
		runs: new Map(),
		acknowledged: new Map(),
		uploads: [],
		kept: 0,
	};
	for (const id of deviceIds) {
		expected.runs.set(id, "1.0.0");
		expected.ran.set(id, new Set(["1.0.0"]));
	}
	const hasEnoughEvents = () => expected.kept > 10 && expected.acknowledged.size === deviceIds.length;
	let tokens = "";
	let round = 0;
	for (; round <= kills || (!hasEnoughEvents() && round <= killsAtMost); round += 1) {
		const before = await filesOf(dataDir, "devices");
		const { child, url, said } = await start(t, program, dataDir);
		const kept = await readFile(join(dataDir, "tokens.json"), "utf8");
		if (round > 0) assert.equal(kept, tokens, "tokens changed");
		tokens = kept;
		const { device, monitor } = JSON.parse(kept);
		const run = new Run({ url, device, monitor, expected, random });
		await run.check(dataDir, before);
		assert.equal(said.join("").includes("damaged"), false, said.join(""));
		run.begin();
		// Mostly early, sometimes after the one-second write delay.
		await new Promise((resolve) => setTimeout(resolve, random() ** 3 * 1300));
		child.kill("SIGKILL");
		await nextEvent(child, "exit");
		await run.end();
	}
	t.diagnostic(
		`${round - 1} kills, ${expected.kept} uploads, ${[...expected.ran.values()].reduce((sum, { size }) => sum + size, 0)} versions run`,
	);
	assert.ok(hasEnoughEvents(), "too few events");
});

/** Clients during one run of the gateway. */
class Run {
	readonly #options: {
		url: string;
		device: string;
		monitor: string;
		expected: Expected;
		random: () => number;
	};
	readonly #clients: Client[] = [];
	readonly #work: Promise<void>[] = [];

	constructor(options: Run["options"]) {
		this.#options = options;
	}

	get options() {
		return this.#options;
	}

	/** Compares the state after a start with the expected state. */
	async check(dataDir: string, before: readonly string[]): Promise<void> {
		const { expected } = this.#options;
		for (const folder of ["devices", "updates", "firmware"])
			for (const name of await filesOf(dataDir, folder)) {
				assert.match(name, /\.(json|bin)$/, "partially written file");
				if (name.endsWith(".json")) JSON.parse(await readFile(join(dataDir, folder, name), "utf8"));
			}
		const { version } = await this.#get("/ota/status");
		const since = expected.uploads.slice(Math.max(0, expected.kept - 1));
		assert.ok(expected.kept === 0 ? true : since.includes(version), `${version} instead of ${since}`);
		const snapshot = await this.#connect("/monitor", bearer(this.#options.monitor)).nextText();
		const { sessions }: FrameOf<"status_update"> = JSON.parse(snapshot);
		const devices = sessions.filter(({ deviceId }) => deviceId !== null);
		const known = devices.map(({ deviceId }) => `${deviceId}.json`);
		assert.deepEqual(
			before.filter((name) => !name.endsWith(".tmp") && !known.includes(name)),
			[],
		);
		for (const { deviceId, metadata, firmwareVersion } of devices) {
			const ran = expected.ran.get(deviceId ?? "");
			if (firmwareVersion !== null) assert.ok(ran?.has(firmwareVersion), `${deviceId}: ${firmwareVersion}`);
			const { otaStatus, otaVersion } = metadata;
			if (otaStatus === "updated") assert.ok(ran?.has(otaVersion ?? ""), `${deviceId}: ${otaVersion}`);
		}
		for (const [deviceId, version] of expected.acknowledged) {
			assert.ok(known.includes(`${deviceId}.json`), `update of unknown device ${deviceId}`);
			const content = await readFile(join(dataDir, "updates", `${deviceId}.json`), "utf8");
			const jobs: readonly { version?: string; status: string }[] = JSON.parse(content).jobs;
			assert.ok(
				jobs.some((job) => job.version === version),
				`${deviceId}: ${version} is not in ${content}`,
			);
			for (const job of jobs)
				if (job.status === "updated")
					assert.ok(expected.ran.get(deviceId)?.has(job.version ?? ""), job.version);
		}
	}

	/** Uploads, updates and reports until the gateway exits. */
	begin(): void {
		for (const id of deviceIds) this.#work.push(this.#device(id).catch(() => {}));
		this.#work.push(this.#person().catch(() => {}));
	}

	async end(): Promise<void> {
		for (const { socket } of this.#clients) socket.terminate();
		await Promise.all(this.#work);
	}

	async #person(): Promise<void> {
		const { url, monitor: token, expected, random } = this.#options;
		const monitor = this.#connect("/monitor", bearer(token));
		for (;;) {
			const version = `1.${expected.uploads.length + 1}.0`;
			expected.uploads.push(version);
			const body = new FormData();
			body.set("firmware", new Blob([makeImage({ chip: "virtual", version })]), `${version}.bin`);
			const answer = await fetch(`${url}/ota/upload`, { method: "POST", body, headers: bearer(token) });
			if (answer.status === 429) return;
			assert.equal(answer.status, 201);
			expected.kept = expected.uploads.length;
			const targetId = deviceIds[Math.floor(random() * deviceIds.length)] ?? "";
			const { type } = await monitor.request({ type: "trigger_ota", targetId, version: "custom" });
			if (type === "ack") expected.acknowledged.set(targetId, version);
		}
	}

	async #device(id: string): Promise<void> {
		const { device: token, expected, random } = this.#options;
		for (let uptime = 1000; ; ) {
			const runs = expected.runs.get(id) ?? "";
			const report = withField(
				withField(sampleReport("DEV-1"), "deviceId", id),
				"system.firmware_version",
				runs,
			);
			const client = this.#connect("/device", {
				...bearer(token),
				"Device-Id": id,
				"Device-Model": "DEV-1",
				"Device-Chip": "virtual",
			});
			await nextEvent(client.socket, "open");
			expected.ran.get(id)?.add(runs);
			client.send(withField(report, "health.uptime_seconds", uptime));
			const { url } = JSON.parse(await client.nextText());
			const version: string = (await this.#get("/ota/status")).version;
			assert.ok(url, "the command has no URL");
			const luck = random();
			for (const percent of [0, 50, 100])
				client.send({ type: "ota_progress", percent, bytes_written: percent, bytes_total: 100 });
			client.send(luck < 0.2 ? { type: "ota_error", reason: "HTTP 404" } : { type: "ota_complete" });
			client.send(withField(report, "peripherals.audio.volume", Math.floor(random() * 101)));
			if (luck > 0.4) expected.runs.set(id, version);
			if (luck >= 0.2) uptime = 0;
			client.socket.close();
			await client.closed;
		}
	}

	async #get(path: string) {
		const { url, monitor } = this.#options;
		return (await fetch(url + path, { headers: bearer(monitor) }))
			.json()
			.then(JSON.stringify)
			.then(JSON.parse);
	}

	#connect(path: string, headers: Readonly<Record<string, string>>): Client {
		const client = new Client(this.#options.url.replace("http", "ws") + path, { headers });
		this.#clients.push(client);
		return client;
	}
}

/** Bundles the gateway into one file, because fifty starts through a compiler take minutes. */
async function bundle(t: TestContext): Promise<string> {
	const directory = await temporaryDirectory(t);
	const outfile = join(directory, "gateway.mjs");
	const banner =
		'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
	await build({
		entryPoints: ["gateway/main.ts"],
		bundle: true,
		platform: "node",
		format: "esm",
		banner: { js: banner },
		outfile,
		logLevel: "error",
	});
	const page = "gateway/dashboard/page";
	if (existsSync(page)) await cp(page, join(directory, "page"), { recursive: true });
	return outfile;
}

async function start(t: TestContext, program: string, dataDir: string) {
	const environment = { DATA_DIR: dataDir, RELEASES_DIR: join(dataDir, "releases") };
	const child = startProcess(t, environment, { program: [program] });
	const said: string[] = [];
	child.stderr?.on("data", (chunk) => void said.push(String(chunk)));
	const { Dashboard = "" } = await readStartupOutput(child).catch((error: Error) => {
		throw new Error(`${error.message}: ${said.join("")}`);
	});
	return { child, url: new URL(Dashboard.split(" ")[0] ?? "").origin, said };
}

async function filesOf(dataDir: string, folder: string): Promise<readonly string[]> {
	return readdir(join(dataDir, folder)).catch(() => []);
}
