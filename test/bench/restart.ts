/**
 * Restart of a gateway with a whole fleet by SIGTERM and by SIGKILL: time until all devices are back, whether one
 * shows "failed" meanwhile, and latency of reports from returned devices compared with before.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { bearer, deviceToken, monitorToken } from "../support/gateway-settings.js";
import { freePort } from "../support/ports.js";
import { Child } from "./child.js";
import type { FirmwareFleet } from "./load/firmware-fleet.js";
import type { Monitors } from "./load/monitors.js";
import { compare, measure, type Row } from "./row.js";
import { socketsAtMost } from "./sockets.js";

const benchmark = "restart";
const devices = Number(process.env.BENCH_DEVICES) || 10_000;
const fleets = Math.ceil(devices / socketsAtMost());
const reportIntervalSeconds = 5;
/** Devices whose latency is measured, in a separate process, because those of the fleets wait for their processor. */
const probes = 200;
const probesPerSecond = 200;
const quietMs = 15_000;
/** Age at which a connection resets the firmware's backoff. */
const provenMs = 32_000;
const snapshotMs = 1000;
const scrapeMs = 5000;
const patienceMs = 180_000;
const backWithinSeconds = 30;

export async function run(): Promise<readonly Row[]> {
	const gateway = new GatewayProcess(await freePort());
	const fleet = Array.from(
		{ length: fleets + 1 },
		(_, index) => new Child<FirmwareFleet>("load/firmware-fleet.ts", { hasLowPriority: index < fleets }),
	);
	const countOf = (index: number) => (index < fleets ? (devices - probes) / fleets : probes);
	try {
		await gateway.start();
		const target = gateway.device;
		await all(fleet, (each, index) =>
			each.request("connect", { target, count: countOf(index), first: index * countOf(0) }),
		);
		await until(async () => (await standingOf(fleet)).connected === devices);
		await all(fleet, (each, index) => {
			const perSecond = index < fleets ? countOf(index) / reportIntervalSeconds : probesPerSecond;
			return each.request("report", { perSecond, isMeasured: index === fleets });
		});
		await setTimeout(quietMs);
		const quietMicros = await latency(gateway, () => setTimeout(quietMs));
		const rows: Row[] = [];
		for (const signal of ["SIGTERM", "SIGKILL"] as const) {
			await setTimeout(provenMs);
			rows.push(...(await restart(gateway, fleet, signal, quietMicros)));
		}
		return rows;
	} finally {
		await all(fleet, (each) => each.close());
		await gateway.close();
	}
}

async function restart(
	gateway: GatewayProcess,
	fleet: readonly Child<FirmwareFleet>[],
	signal: "SIGTERM" | "SIGKILL",
	quietMicros: number,
): Promise<Row[]> {
	await all(fleet, (each) => each.request("mark"));
	const awayMs = await gateway.restart(signal);
	const rates: number[] = [];
	let scrapedAt = performance.now();
	const p99Micros = await latency(gateway, () =>
		until(async () => {
			// At most as often as Prometheus: it takes the gateway some milliseconds.
			if (performance.now() - scrapedAt >= scrapeMs) {
				scrapedAt = performance.now();
				rates.push(await gateway.metric("gateway_admitted_devices_per_second"));
			}
			return (await standingOf(fleet)).back === devices;
		}),
	);
	const { lastBackMs, shownFailed, refusals, failures } = await standingOf(fleet);
	const what = `${devices} devices, ${signal}`;
	const ours = (name: string, unit: string, value: number, atMost?: number) =>
		measure(
			{
				benchmark,
				what: `${what}: ${name}`,
				unit,
				...(atMost !== undefined && { target: { of: "ours", atMost } }),
			},
			[value],
		);
	return [
		ours("all are back after", "s", lastBackMs / 1000, backWithinSeconds),
		ours("show that they failed", "", shownFailed, 0),
		compare(
			{
				benchmark,
				what: `${what}: latency p99 of those that are back, beside before`,
				unit: "µs",
				target: { of: "ratio", atMost: 2 },
			},
			[{ ours: p99Micros, reference: quietMicros }],
		),
		ours("admission rate, lowest", "/s", Math.min(...rates)),
		ours("admission rate, highest", "/s", Math.max(...rates)),
		ours("refusals", "", refusals),
		ours("failed attempts", "", failures),
		ours("until the next process listens", "s", awayMs / 1000),
	];
}

/** @returns p99 latency in microseconds of reports to a monitor during `work` */
async function latency(gateway: GatewayProcess, work: () => Promise<unknown>): Promise<number> {
	const monitors = new Child<Monitors>("load/monitors.ts");
	try {
		await monitors.request("connect", { target: gateway.monitor, count: 1 });
		// Its snapshot of the whole fleet is no report.
		await setTimeout(snapshotMs);
		await monitors.request("start");
		await work();
		return (await monitors.request("finish", { expected: 0 })).p99Micros;
	} finally {
		await monitors.close();
	}
}

async function standingOf(fleet: readonly Child<FirmwareFleet>[]) {
	const standings = await all(fleet, (each) => each.request("standing"));
	return standings.reduce((sum, each) => ({
		connected: sum.connected + each.connected,
		back: sum.back + each.back,
		lastBackMs: Math.max(sum.lastBackMs, each.lastBackMs),
		shownFailed: sum.shownFailed + each.shownFailed,
		refusals: sum.refusals + each.refusals,
		failures: sum.failures + each.failures,
	}));
}

function all<T, R>(list: readonly T[], request: (each: T, index: number) => Promise<R>): Promise<R[]> {
	return Promise.all(list.map(request));
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
	for (const giveUpAt = performance.now() + patienceMs; !(await isTrue()); await setTimeout(250))
		if (performance.now() > giveUpAt) throw new Error(`not all connected within ${patienceMs / 1000} s`);
}

/** `npm start` with a constant port and data folder, restarted immediately as by a supervisor. */
class GatewayProcess {
	readonly #port: number;
	readonly #dataDir = mkdtempSync(join(tmpdir(), "gateway-bench-"));
	#process: ChildProcess | undefined;

	constructor(port: number) {
		this.#port = port;
	}

	get device() {
		return { url: `ws://127.0.0.1:${this.#port}/device`, token: deviceToken };
	}

	get monitor() {
		return { url: `ws://127.0.0.1:${this.#port}/monitor`, token: monitorToken };
	}

	async start(): Promise<void> {
		const log = process.env.BENCH_VERBOSE ? "inherit" : "ignore";
		this.#process = spawn(
			"node",
			["--v8-pool-size=1", "--max-semi-space-size=4", "--import", "tsx", "gateway/main.ts"],
			{
				env: {
					PATH: process.env.PATH,
					PORT: String(this.#port),
					DATA_DIR: this.#dataDir,
					RELEASES_DIR: join(this.#dataDir, "releases"),
					DEVICE_TOKEN: deviceToken,
					MONITOR_TOKEN: monitorToken,
				},
				stdio: ["ignore", "pipe", log],
			},
		);
		if (this.#process.stdout) await once(this.#process.stdout, "data");
	}

	/** @returns milliseconds until it listens again */
	async restart(signal: "SIGTERM" | "SIGKILL"): Promise<number> {
		const began = performance.now();
		const ended = this.#process && once(this.#process, "exit");
		this.#process?.kill(signal);
		await ended;
		await this.start();
		return performance.now() - began;
	}

	/** Value of a metric without labels. */
	async metric(name: string): Promise<number> {
		const response = await fetch(`http://127.0.0.1:${this.#port}/metrics`, { headers: bearer(monitorToken) });
		return Number(new RegExp(`^${name} (.+)$`, "m").exec(await response.text())?.[1]);
	}

	async close(): Promise<void> {
		const ended = this.#process?.exitCode === null && once(this.#process, "exit");
		this.#process?.kill("SIGKILL");
		await ended;
		rmSync(this.#dataDir, { recursive: true, force: true });
	}
}
