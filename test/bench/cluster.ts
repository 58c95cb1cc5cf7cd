/**
 * Several gateways on one nats-server: cost of a report whose monitors are on another gateway than its device, and
 * cost of a device in one process and in five. CLUSTER_DEVICES=18000,6000 sets the devices of a single gateway and of
 * each of five (18,000); 0: only the first benchmark.
 */

import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { type Owner, withCleanup } from "../support/cleanup.js";
import { startNats } from "../support/nats.js";
import { whyMissing } from "../support/programs.js";
import { alternate, pick, socketsAtMost } from "./harness.js";
import { oursAtMost, type Row, Rows, ratioAtMost } from "./row.js";
import { cpuMicrosOf } from "./servers/nginx.js";
import { type Load, type Relayed, Side } from "./sides.js";

const table = new Rows("cluster");
const fleet = 1000;
const monitorCounts = [1, 10];
const load: Load = { count: 3000, perSecond: 2000 };
const warmUp: Load = { count: 4000, perSecond: 4000 };
/** Devices of a single gateway, and of each of five. */
const [aloneAtMost = 18_000, eachAtMost = 18_000] = (process.env.CLUSTER_DEVICES ?? "")
	.split(",")
	.flatMap((text) => Number(text) || []);
const measuredMs = 30_000;

export async function run(): Promise<readonly Row[]> {
	if (whyMissing("nats-server")) {
		console.error("cluster: nats-server is not installed (apt-get install nats-server)");
		return [];
	}
	const rows = [...(await withCleanup(runRelay))];
	if (process.env.CLUSTER_DEVICES === "0") return rows;
	for (const [gateways, atMost, everySeconds] of [
		[1, aloneAtMost, 5],
		[5, eachAtMost, 30],
	] as const)
		rows.push(
			...(await withCleanup((t) => runScale(t, gateways, Math.min(atMost, socketsAtMost()), everySeconds))),
		);
	return rows;
}

async function startServer(t: Owner) {
	const { url, pid } = await startNats(t);
	return {
		url,
		cpuMicros: () => cpuMicrosOf(String(pid)),
		/** Resident memory in MB. */
		rss: () => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024,
	};
}

const cpuOf = async (sides: readonly Side[]) =>
	(await Promise.all(sides.map((each) => each.usage()))).reduce((sum, each) => sum + each.cpuMicros, 0);

async function runRelay(t: Owner): Promise<readonly Row[]> {
	const nats = await startServer(t);
	const alone = await Side.gateway(t, {}, true);
	const owner = await Side.gateway(t, { nats: nats.url }, true);
	const other = await Side.gateway(t, { nats: nats.url }, true);
	for (const each of [alone, owner]) await each.connectDevices(fleet);
	/** @returns processor time of both gateways, and of nats-server, per report */
	const shared = async (what: Load): Promise<Relayed & { natsMicros: number }> => {
		const [before, beforeNats] = [await cpuOf([owner, other]), nats.cpuMicros()];
		await other.monitors.request("start");
		const { sent } = await owner.devices.request("send", what);
		const seen = await other.monitors.request("finish", { expected: sent });
		const cpuMicros = ((await cpuOf([owner, other])) - before) / sent;
		return { ...seen, share: 0, cpuMicros, natsMicros: (nats.cpuMicros() - beforeNats) / sent };
	};
	const local = async (what: Load) => ({ ...(await alone.relay(what)), natsMicros: 0 });
	const published = () => owner.metric("gateway_bus_publishes_total", "report");
	const quiet = await published();
	await owner.relay(warmUp);
	const rows = [
		table.ours("reports published, no monitor elsewhere", "", (await published()) - quiet, oursAtMost(0)),
	];
	for (const monitors of monitorCounts) {
		for (const each of [alone, other]) await each.setMonitors(monitors);
		// Waits until the interest is known and the code is compiled.
		await setTimeout(3_000);
		for (const each of [shared, local, shared, local]) await each(warmUp);
		const rounds = await alternate(
			() => shared(load),
			() => local(load),
		);
		const what = `${fleet} devices, ${monitors} monitors on another gateway`;
		const micros = (name: string, key: "cpuMicros" | "p50Micros" | "p99Micros", ratio?: number) =>
			table.compare(
				`${what}: ${name}`,
				"µs",
				pick(rounds, (side) => side[key]),
				ratio === undefined ? undefined : ratioAtMost(ratio),
			);
		const ours = rounds.map((round) => round.ours);
		rows.push(
			micros("CPU a report, both gateways", "cpuMicros", monitors === 10 ? 1.3 : undefined),
			table.ours(
				`${what}: CPU a report, nats-server`,
				"µs",
				ours.map(({ natsMicros }) => natsMicros),
			),
			micros("latency p50", "p50Micros"),
			micros("latency p99", "p99Micros"),
			table.ours(`${what}: reports lost`, "", Math.max(...ours.map(({ lost }) => lost)), oursAtMost(0)),
		);
	}
	return rows;
}

/** Memory and processor time of the gateways per device. */
async function runScale(t: Owner, gateways: number, count: number, everySeconds: number) {
	const nats = gateways > 1 ? await startServer(t) : undefined;
	const sides: Side[] = [];
	for (let index = 0; index < gateways; index += 1)
		sides.push(await Side.gateway(t, nats ? { nats: nats.url } : {}, true));
	const total = gateways * count;
	const began = performance.now();
	const memory = await Promise.all(sides.map((side, index) => side.connectDevices(count, index * count)));
	// A gateway also stores the devices of the others.
	await Promise.all(sides.map((side) => side.settle(count)));
	const settledSeconds = (performance.now() - began) / 1000;
	const kilobytes = (key: "rss" | "heap") =>
		memory.reduce((sum, each) => sum + each[key], 0) / gateways / 1024;
	const perSecond = count / everySeconds;
	const [before, natsBefore] = [await cpuOf(sides), nats?.cpuMicros() ?? 0];
	const sent = { count: Math.round((perSecond * measuredMs) / 1000), perSecond };
	await Promise.all(sides.map(({ devices }) => devices.request("send", sent)));
	const used = (await cpuOf(sides)) - before;
	const usedByNats = (nats?.cpuMicros() ?? 0) - natsBefore;
	const who = gateways === 1 ? "one gateway" : `${gateways} gateways`;
	const ours = (name: string, unit: string, value: number, atMost?: number) =>
		table.ours(
			`${who}, ${total} devices at ${everySeconds} s: ${name}`,
			unit,
			value,
			atMost === undefined ? undefined : oursAtMost(atMost),
		);
	const rows = [
		ours("memory a device (resident)", "KB", kilobytes("rss"), 12),
		ours("memory a device (heap and buffers)", "KB", kilobytes("heap")),
		ours("CPU a report", "µs", used / (sent.count * gateways)),
		ours("share of a core, all gateways", "", used / 1000 / measuredMs),
		ours("until all is settled", "s", settledSeconds),
	];
	if (nats)
		rows.push(
			ours("share of a core, nats-server", "", usedByNats / 1000 / measuredMs),
			ours("memory of nats-server", "MB", nats.rss()),
		);
	return rows;
}
