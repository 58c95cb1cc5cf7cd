/** Reports from devices to monitors, through the gateway and through a bare `ws` server that does the same. */

import { alternate, pick, type Sides } from "./rounds.js";
import { compare, measure, type Row, type Target } from "./row.js";
import { type Load, type Relayed, type Side, withSides } from "./sides.js";
import { socketsAtMost } from "./sockets.js";

const fleets = [100, 1000, 10_000];
const monitorCounts = [0, 1, 10, 20];
/**
 * Rate of 10,000 devices at one report each 5 s, for each fleet: only the number of connections differs. For 5 s,
 * because V8 may mark the heap every few seconds: shorter rounds would contain such a mark or not.
 */
const load: Load = { count: 10_000, perSecond: 2000 };
/** Warm-up, so that all code is compiled. */
const warmUp: Load = { count: 4000, perSecond: 4000 };

const benchmark = "relay";
/** Targets for the processor time per report, by number of monitors. */
const targets: ReadonlyMap<number, Target> = new Map([
	[0, { of: "ratio", atMost: 1.3 }],
	[1, { of: "ratio", atMost: 1.15 }],
	[10, { of: "ratio", atMost: 0.75 }],
	[20, { of: "ratio", atMost: 0.65 }],
]);
const lateTarget: Target = { of: "ratio", atMost: 1.2 };

export async function run(): Promise<readonly Row[]> {
	const rows: Row[] = [];
	for (const fleet of fleets) rows.push(...(await runFleet(fleet)));
	return rows;
}

function runFleet(wanted: number): Promise<readonly Row[]> {
	const fleet = Math.min(wanted, socketsAtMost());
	return withSides(async (ours, reference) => {
		const memory = {
			ours: await ours.connectDevices(fleet),
			reference: await reference.connectDevices(fleet),
		};
		const rows: Row[] = [];
		for (const monitors of monitorCounts) {
			for (const side of [ours, reference]) {
				await side.setMonitors(monitors);
				await side.relay(warmUp);
			}
			rows.push(...(await runRounds(fleet, monitors, ours, reference)));
		}
		return [...memoryRows(fleet, wanted, memory), ...rows];
	});
}

/** The memory of a hundred connections is lost in the noise of the heap. */
function memoryRows(fleet: number, wanted: number, memory: Sides<{ rss: number; heap: number }>): Row[] {
	if (fleet < 1000) return [];
	const kilobytes = (bytes: number) => bytes / 1024;
	const row = (what: string, figureOf: (side: { rss: number; heap: number }) => number) =>
		compare(
			{
				benchmark,
				what: `${fleet} devices: memory a connection (${what})`,
				unit: "KB",
				// 2 KB more once a device has been connected for 40 minutes: its last 24 hours.
				target: { of: "ours", atMost: 12 },
				...(fleet < wanted && { note: `${wanted} do not fit: too few open files` }),
			},
			pick([memory], (side) => kilobytes(figureOf(side))),
		);
	return [row("resident", ({ rss }) => rss), row("heap and buffers", ({ heap }) => heap)];
}

/** Load of 10,000 devices at one report each 5 s. */
function shareRow(fleet: number, rounds: readonly Sides<Relayed>[]): Row {
	const target: Target = { of: "ours", atMost: 0.5 };
	return compare(
		{ benchmark, what: `${fleet} devices, 20 monitors: share of a core`, unit: "", target },
		pick(rounds, ({ share }) => share),
	);
}

async function runRounds(fleet: number, monitors: number, ours: Side, reference: Side): Promise<Row[]> {
	const rounds = await alternate(
		() => ours.relay(load),
		() => reference.relay(load),
	);
	const figure = (what: string, figureOf: (relayed: Relayed) => number, wanted?: Target) =>
		compare(
			{
				benchmark,
				what: `${fleet} devices, ${monitors} monitors: ${what}`,
				unit: "µs",
				...(wanted && { target: wanted }),
			},
			pick(rounds, figureOf),
		);
	if (monitors === 0)
		return [figure("CPU a report, parsed only", ({ cpuMicros }) => cpuMicros, targets.get(0))];
	return [
		figure("CPU a report", ({ cpuMicros }) => cpuMicros, targets.get(monitors)),
		figure("latency p50", ({ p50Micros }) => p50Micros),
		figure("latency p99", ({ p99Micros }) => p99Micros, lateTarget),
		...(fleet >= 1000 && monitors === 20 ? [shareRow(fleet, rounds)] : []),
		measure(
			{
				benchmark,
				what: `${fleet} devices, ${monitors} monitors: reports lost`,
				unit: "",
				target: { of: "ours", atMost: 0 },
			},
			[Math.max(...rounds.map((round) => round.ours.lost))],
		),
	];
}
