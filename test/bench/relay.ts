/** Reports from devices to monitors, through the gateway and through a bare `ws` server that does the same. */

import { type Owner, withCleanup } from "../support/cleanup.js";
import { compare, type Figure, maxSockets, type Row } from "./harness.js";
import { type Load, type Relayed, Side, warmUp } from "./side.js";

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

export async function run(): Promise<readonly Row[]> {
	const rows: Row[] = [];
	for (const fleet of fleets)
		rows.push(...(await withCleanup((t) => runFleet(t, Math.min(fleet, maxSockets())))));
	return rows;
}

/** Figures of relayed reports. @param maxRatio of processor time */
export function figuresOf(maxRatio?: number, maxLatencyRatio?: number): readonly Figure<Relayed>[] {
	return [
		{ what: "CPU a report", unit: "µs", of: ({ cpuMicros }) => cpuMicros, maxRatio },
		{ what: "latency p50", unit: "µs", of: ({ p50Micros }) => p50Micros },
		{ what: "latency p99", unit: "µs", of: ({ p99Micros }) => p99Micros, maxRatio: maxLatencyRatio },
		{ what: "reports lost", unit: "", of: ({ lost }) => lost, max: 0 },
	];
}

async function runFleet(t: Owner, fleet: number): Promise<readonly Row[]> {
	const [ours, reference] = [await Side.gateway(t), await Side.bare(t)];
	const memory = await compare(
		`${fleet} devices`,
		{ ours: () => ours.connectDevices(fleet), reference: () => reference.connectDevices(fleet) },
		// 2 KB more once a device has been connected for 40 minutes: its last 24 hours.
		[{ what: "memory a connection", unit: "KB", of: (kilobytes) => kilobytes, max: 12 }],
		1,
	);
	// The memory of a hundred connections is lost in the noise of the heap.
	const rows = fleet < 1000 ? [] : [...memory];
	for (const [monitors, maxRatio] of monitorCounts) {
		for (const side of [ours, reference]) {
			await side.setMonitors(monitors);
			await side.relay(warmUp);
		}
		const sides = { ours: () => ours.relay(load), reference: () => reference.relay(load) };
		const figures = figuresOf(maxRatio, 1.2).slice(0, monitors === 0 ? 1 : undefined);
		rows.push(...(await compare(`${fleet} devices, ${monitors} monitors`, sides, figures)));
	}
	return rows;
}
