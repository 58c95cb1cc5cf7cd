/**
 * Several gateways on one nats-server: cost of a report whose monitors are on another gateway than its device, and
 * cost of a device in one process and in five. CLUSTER_DEVICES sets the devices of each gateway (18,000); 0: only the
 * first benchmark.
 */

import { setTimeout } from "node:timers/promises";
import { type Owner, withCleanup } from "../support/cleanup.js";
import { startNats } from "../support/nats.js";
import { whyMissing } from "../support/programs.js";
import { compare, cost, maxSockets, type Row, row } from "./harness.js";
import { figuresOf } from "./relay.js";
import { type Load, Side, warmUp } from "./side.js";

const fleet = 1000;
const monitorCounts = [1, 10];
const load: Load = { count: 3000, perSecond: 2000 };
const devicesAGateway = Number(process.env.CLUSTER_DEVICES ?? 18_000);
const measuredMs = 30_000;

export async function run(t: Owner): Promise<readonly Row[]> {
	const missing = whyMissing("nats-server");
	if (missing) {
		console.log(`\ncluster: left out. ${missing}`);
		return [];
	}
	const rows = [...(await runRelay(t))];
	if (devicesAGateway > 0)
		for (const [gateways, everySeconds] of [
			[1, 5],
			[5, 30],
		] as const)
			rows.push(...(await withCleanup((t) => runScale(t, gateways, everySeconds))));
	return rows;
}

async function runRelay(t: Owner): Promise<readonly Row[]> {
	const { url: nats } = await startNats(t);
	const alone = await Side.gateway(t, {}, true);
	const owner = await Side.gateway(t, { nats }, true);
	const other = await Side.gateway(t, { nats }, true);
	for (const side of [alone, owner]) await side.connectDevices(fleet);
	const rows: Row[] = [];
	for (const monitors of monitorCounts) {
		for (const side of [alone, other]) await side.setMonitors(monitors);
		// Waits until the interest is known and the code is compiled.
		await setTimeout(3_000);
		const sides = (sent: Load) => ({
			ours: () => owner.relay(sent, other),
			reference: () => alone.relay(sent),
		});
		await compare("warm-up", sides(warmUp), [], 2);
		rows.push(
			...(await compare(
				`${fleet} devices, ${monitors} monitors on another gateway`,
				sides(load),
				figuresOf(monitors === 10 ? 1.3 : undefined),
			)),
		);
	}
	return rows;
}

/** Memory and processor time of the gateways per device. */
async function runScale(t: Owner, gateways: number, everySeconds: number): Promise<readonly Row[]> {
	const count = Math.min(devicesAGateway, maxSockets());
	const options = gateways > 1 ? { nats: (await startNats(t)).url } : {};
	const sides: Side[] = [];
	for (let index = 0; index < gateways; index += 1) sides.push(await Side.gateway(t, options, true));
	const began = performance.now();
	const memory = await Promise.all(sides.map((side, index) => side.connectDevices(count, index * count)));
	// A gateway also stores the devices of the others.
	await Promise.all(sides.map((side) => side.settle(count)));
	const settledSeconds = (performance.now() - began) / 1000;
	const perSecond = count / everySeconds;
	const sent = { count: Math.round((perSecond * measuredMs) / 1000), perSecond };
	const all = { cpuMicros: async () => sum(await Promise.all(sides.map((side) => side.cpuMicros()))) };
	const { cpuMilliseconds } = await cost(all, () =>
		Promise.all(sides.map(({ devices }) => devices.request("send", sent))),
	);
	const what = `${gateways} gateways, ${gateways * count} devices at ${everySeconds} s`;
	return [
		row(`${what}: memory a device`, sum(memory) / gateways, { unit: "KB", max: 12 }),
		row(`${what}: share of a core, all gateways`, cpuMilliseconds / measuredMs, { unit: "" }),
		row(`${what}: until all is settled`, settledSeconds, { unit: "s" }),
	];
}

function sum(values: readonly number[]): number {
	return values.reduce((total, value) => total + value, 0);
}
