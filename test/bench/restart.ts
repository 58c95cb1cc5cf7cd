/**
 * Restart of a gateway with a whole fleet by SIGTERM and by SIGKILL: time until all devices are back, whether one
 * shows "failed" meanwhile, and latency of reports from returned devices compared with before.
 */

import { setTimeout } from "node:timers/promises";
import { type Owner, temporaryDirectory, withCleanup } from "../support/cleanup.js";
import { eventually } from "../support/eventually.js";
import { freePort } from "../support/ports.js";
import { Child } from "./child.js";
import { socketsAtMost, start, startGateway } from "./harness.js";
import type { FirmwareFleet } from "./load/firmware-fleet.js";
import type { Monitors } from "./load/monitors.js";
import { oursAtMost, type Row, Rows, ratioAtMost, type Target } from "./row.js";

const table = new Rows("restart");
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

type Signal = "SIGTERM" | "SIGKILL";

export const run = (): Promise<readonly Row[]> =>
	withCleanup(async (t) => {
		const gateway = await startRestartable(t);
		const fleet = Array.from(
			{ length: fleets + 1 },
			(_, index): Child<FirmwareFleet> =>
				start(t, "load/firmware-fleet.ts", { hasLowPriority: index < fleets }),
		);
		const countOf = (index: number) => (index < fleets ? (devices - probes) / fleets : probes);
		const all = <R>(request: (each: Child<FirmwareFleet>, index: number) => Promise<R>) =>
			Promise.all(fleet.map(request));
		const standing = async () => {
			const standings = await all((each) => each.request("standing"));
			return standings.reduce((sum, each) => ({
				connected: sum.connected + each.connected,
				back: sum.back + each.back,
				lastBackMs: Math.max(sum.lastBackMs, each.lastBackMs),
				shownFailed: sum.shownFailed + each.shownFailed,
				refusals: sum.refusals + each.refusals,
				failures: sum.failures + each.failures,
			}));
		};
		await all((each, index) =>
			each.request("connect", {
				target: gateway.target("device"),
				count: countOf(index),
				first: index * countOf(0),
			}),
		);
		await eventually(standing, ({ connected }) => connected === devices, patienceMs);
		await all((each, index) => {
			const perSecond = index < fleets ? countOf(index) / reportIntervalSeconds : probesPerSecond;
			return each.request("report", { perSecond, isMeasured: index === fleets });
		});
		await setTimeout(quietMs);
		/** @returns p99 latency in microseconds of reports to a monitor during `work` */
		const latency = async (work: () => Promise<unknown>) => {
			const monitors = new Child<Monitors>("load/monitors.ts");
			try {
				await monitors.request("connect", { target: gateway.target("monitor"), count: 1 });
				// Its snapshot of the whole fleet is no report.
				await setTimeout(snapshotMs);
				await monitors.request("start");
				await work();
				return (await monitors.request("finish", { expected: 0 })).p99Micros;
			} finally {
				await monitors.close();
			}
		};
		const reference = await latency(() => setTimeout(quietMs));
		const rows: Row[] = [];
		for (const signal of ["SIGTERM", "SIGKILL"] as const) {
			await setTimeout(provenMs);
			await all((each) => each.request("mark"));
			const awayMs = await gateway.restart(signal);
			const rates: number[] = [];
			let scrapedAt = performance.now();
			const p99Micros = await latency(() =>
				eventually(
					async () => {
						// At most as often as Prometheus: it takes the gateway some milliseconds.
						if (performance.now() - scrapedAt >= scrapeMs) {
							scrapedAt = performance.now();
							rates.push(await gateway.admissionRate());
						}
						return (await standing()).back;
					},
					(back) => back === devices,
					patienceMs,
				),
			);
			const { lastBackMs, shownFailed, refusals, failures } = await standing();
			const what = `${devices} devices, ${signal}`;
			const ours = (name: string, unit: string, value: number, target?: Target) =>
				table.ours(`${what}: ${name}`, unit, value, target);
			rows.push(
				ours("all are back after", "s", lastBackMs / 1000, oursAtMost(backWithinSeconds)),
				ours("show that they failed", "", shownFailed, oursAtMost(0)),
				table.compare(
					`${what}: latency p99 of those that are back, beside before`,
					"µs",
					[{ ours: p99Micros, reference }],
					ratioAtMost(2),
				),
				ours("admission rate, lowest", "/s", Math.min(...rates)),
				ours("admission rate, highest", "/s", Math.max(...rates)),
				ours("refusals", "", refusals),
				ours("failed attempts", "", failures),
				ours("until the next process listens", "s", awayMs / 1000),
			);
		}
		return rows;
	});

/** Starts a gateway with a constant port and data folder, restarted immediately as by a supervisor. */
async function startRestartable(t: Owner) {
	const options = { port: await freePort(), dataDir: await temporaryDirectory(t), isLimited: true };
	let child = startGateway(t);
	const { url, tokens } = await child.request("listen", options);
	return {
		target: (role: "device" | "monitor") => ({
			url: `${url.replace("http", "ws")}/${role}`,
			token: tokens[role],
		}),
		/** @returns milliseconds until it listens again */
		async restart(signal: Signal): Promise<number> {
			const began = performance.now();
			if (signal === "SIGTERM") await child.request("stop");
			await child.kill();
			child = startGateway(t);
			await child.request("listen", options);
			return performance.now() - began;
		},
		admissionRate: () => child.request("metric", { name: "gateway_admitted_devices_per_second" }),
	};
}
