/**
 * Restart of a gateway with a whole fleet by SIGTERM and by SIGKILL: time until all devices are back, whether one
 * shows "failed" meanwhile, and latency of reports from returned devices compared with before.
 */

import { setTimeout } from "node:timers/promises";
import { type Owner, temporaryDirectory } from "../support/cleanup.js";
import { eventually } from "../support/eventually.js";
import { freePort } from "../support/ports.js";
import { type Child, start } from "./child.js";
import { maxSockets, type Row, row } from "./harness.js";
import type { FirmwareFleet } from "./load/firmware-fleet.js";
import { Side } from "./side.js";

const devices = 10_000;
const fleets = Math.ceil(devices / maxSockets());
const reportIntervalSeconds = 5;
/** Devices whose latency is measured, in a separate process, because those of the fleets wait for their processor. */
const probes = 200;
const probesPerSecond = 200;
const quietMs = 15_000;
/** Age at which a connection resets the firmware's backoff. */
const provenMs = 32_000;
const snapshotMs = 1000;
const patienceMs = 180_000;

export async function run(t: Owner): Promise<readonly Row[]> {
	const options = { port: await freePort(), dataDir: await temporaryDirectory(t), isLimited: true };
	let gateway = await Side.gateway(t, options);
	const fleet = Array.from(
		{ length: fleets + 1 },
		(_, index): Child<FirmwareFleet> =>
			start(t, "load/firmware-fleet.ts", { hasLowPriority: index < fleets }),
	);
	const countOf = (index: number) => (index < fleets ? (devices - probes) / fleets : probes);
	const all = <R>(request: (child: Child<FirmwareFleet>, index: number) => Promise<R>) =>
		Promise.all(fleet.map(request));
	const standing = async () =>
		(await all((child) => child.request("standing"))).reduce((sum, { back, lastBackMs, shownFailed }) => ({
			back: sum.back + back,
			lastBackMs: Math.max(sum.lastBackMs, lastBackMs),
			shownFailed: sum.shownFailed + shownFailed,
		}));
	const allBack = () => eventually(standing, ({ back }) => back === devices, patienceMs);
	await all((child, index) =>
		child.request("connect", {
			target: gateway.device,
			count: countOf(index),
			first: index * countOf(0),
		}),
	);
	await allBack();
	await all((child, index) => {
		const perSecond = index < fleets ? countOf(index) / reportIntervalSeconds : probesPerSecond;
		return child.request("report", { perSecond, isMeasured: index === fleets });
	});
	await setTimeout(quietMs);
	/** @returns p99 latency in microseconds of reports to a monitor during `work` */
	const latency = async (work: () => Promise<unknown>) => {
		await gateway.setMonitors(1);
		// Its snapshot of the whole fleet is no report.
		await setTimeout(snapshotMs);
		await gateway.monitors.request("start");
		await work();
		return (await gateway.monitors.request("finish", { expected: 0 })).p99Micros;
	};
	const reference = await latency(() => setTimeout(quietMs));
	const rows: Row[] = [];
	for (const signal of ["SIGTERM", "SIGKILL"] as const) {
		await setTimeout(provenMs);
		await all((child) => child.request("mark"));
		// Restarted immediately, as by a supervisor.
		await gateway.end(signal);
		gateway = await Side.gateway(t, options);
		const p99Micros = await latency(allBack);
		const { lastBackMs, shownFailed } = await standing();
		const what = `${devices} devices, ${signal}`;
		rows.push(
			row(`${what}: all are back after`, lastBackMs / 1000, { unit: "s", max: 30 }),
			row(`${what}: show that they failed`, shownFailed, { unit: "", max: 0 }),
			{
				...row(`${what}: latency p99 of those that are back`, p99Micros, { unit: "µs", maxRatio: 2 }),
				reference,
				ratio: p99Micros / reference,
			},
		);
	}
	return rows;
}
