/** Reports from devices to monitors, through the gateway and through a bare `ws` server that does the same. */

import { withCleanup } from "../support/cleanup.js";
import { alternate, pick, socketsAtMost } from "./harness.js";
import { oursAtMost, type Row, Rows, ratioAtMost, type Target } from "./row.js";
import { type Load, type Relayed, Side } from "./sides.js";

const fleets = [100, 1000, 10_000];
/** Targets for the ratio of processor time per report, by number of monitors. */
const monitorCounts = new Map([
	[0, 1.3],
	[1, 1.15],
	[10, 0.75],
	[20, 0.65],
]);
/**
 * Rate of 10,000 devices at one report each 5 s, for each fleet: only the number of connections differs. For 5 s,
 * because V8 may mark the heap every few seconds: shorter rounds would contain such a mark or not.
 */
const load: Load = { count: 10_000, perSecond: 2000 };
/** Warm-up, so that all code is compiled. */
const warmUp: Load = { count: 4000, perSecond: 4000 };
const table = new Rows("relay");

export async function run(): Promise<readonly Row[]> {
	const rows: Row[] = [];
	for (const fleet of fleets) rows.push(...(await runFleet(fleet)));
	return rows;
}

function runFleet(wanted: number): Promise<readonly Row[]> {
	const fleet = Math.min(wanted, socketsAtMost());
	return withCleanup(async (t) => {
		const [ours, reference] = [await Side.gateway(t), await Side.bare(t)];
		const memory = {
			ours: await ours.connectDevices(fleet),
			reference: await reference.connectDevices(fleet),
		};
		const rows: Row[] = [];
		// The memory of a hundred connections is lost in the noise of the heap.
		for (const [name, key] of fleet < 1000
			? []
			: ([
					["resident", "rss"],
					["heap and buffers", "heap"],
				] as const))
			rows.push(
				table.compare(
					`${fleet} devices: memory a connection (${name})`,
					"KB",
					pick([memory], (side) => side[key] / 1024),
					// 2 KB more once a device has been connected for 40 minutes: its last 24 hours.
					oursAtMost(12),
					fleet < wanted ? `${wanted} do not fit: too few open files` : undefined,
				),
			);
		for (const [monitors, ratio] of monitorCounts) {
			for (const side of [ours, reference]) {
				await side.setMonitors(monitors);
				await side.relay(warmUp);
			}
			rows.push(...(await runRounds(fleet, monitors, ratio, ours, reference)));
		}
		return rows;
	});
}

async function runRounds(fleet: number, monitors: number, ratio: number, ours: Side, reference: Side) {
	const rounds = await alternate(
		() => ours.relay(load),
		() => reference.relay(load),
	);
	const figure = (what: string, unit: string, figureOf: (relayed: Relayed) => number, target?: Target) =>
		table.compare(`${fleet} devices, ${monitors} monitors: ${what}`, unit, pick(rounds, figureOf), target);
	const what = monitors === 0 ? "CPU a report, parsed only" : "CPU a report";
	const rows = [figure(what, "µs", ({ cpuMicros }) => cpuMicros, ratioAtMost(ratio))];
	if (monitors === 0) return rows;
	rows.push(
		figure("latency p50", "µs", ({ p50Micros }) => p50Micros),
		figure("latency p99", "µs", ({ p99Micros }) => p99Micros, ratioAtMost(1.2)),
	);
	if (fleet >= 1000 && monitors === 20)
		rows.push(figure("share of a core", "", ({ share }) => share, oursAtMost(0.5)));
	const lost = Math.max(...rounds.map((round) => round.ours.lost));
	rows.push(table.ours(`${fleet} devices, ${monitors} monitors: reports lost`, "", lost, oursAtMost(0)));
	return rows;
}
