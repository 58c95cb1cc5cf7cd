/** Prometheus metrics: counters of events, and gauges that are read on request. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from "prom-client";
import { uplinks } from "../../device/protocol/messages.js";
import { keysOf } from "../../device/protocol/schema.js";
import { monitorErrorCodes } from "../api/frames.js";
import { updateOutcomes } from "../api/statuses.js";

export type Metrics = ReturnType<typeof createMetrics>;

/** Values that are known before an event, by label. */
type KnownLabels<L extends string> = Readonly<Record<L, readonly (string | number)[]>>;

export function createMetrics(registry: Registry) {
	const registers = [registry];
	const counter = <L extends string = never>(name: string, help: string, labels?: KnownLabels<L>) => {
		const added = new Counter<L>({ name, help, labelNames: labels ? keysOf(labels) : [], registers });
		for (const combination of labels ? combinationsOf(labels) : []) added.inc(combination, 0);
		return added;
	};
	const uplinkCounts = new Map<string, number>(keysOf(uplinks).map((type) => [type, 0]));
	new Counter({
		name: "gateway_uplinks_total",
		help: "Valid uplinks",
		labelNames: ["type"],
		registers,
		collect() {
			this.reset();
			for (const [type, count] of uplinkCounts) this.inc({ type }, count);
		},
	});
	return {
		registry,
		/**
		 * Adds a counter. Prometheus computes no rate from the first sample of a series, so the series of known label values
		 * start at 0.
		 */
		counter,
		/** Must be called for each uplink. Labels are created when metrics are read. */
		countUplink: (type: string): void => void uplinkCounts.set(type, (uplinkCounts.get(type) ?? 0) + 1),
		droppedUplinks: counter("gateway_dropped_uplinks_total", "Invalid uplinks"),
		leftOutFields: counter(
			"gateway_left_out_fields_total",
			"Fields of another model that were removed from a report",
		),
		pausedDevices: counter(
			"gateway_paused_devices_total",
			"Times that a device was paused because it exceeded the rate limit",
		),
		commands: counter("gateway_commands_total", "Executed commands of monitors", { type: [] }),
		rejectedCommands: counter("gateway_rejected_commands_total", "Rejected commands of monitors", {
			code: monitorErrorCodes,
		}),
		rejectedUpgrades: counter(
			"gateway_rejected_upgrades_total",
			"Rejected WebSocket upgrades by HTTP status",
			{ status: [400, 401, 403, 404, 410, 429, 503] },
		),
		updates: counter("gateway_updates_total", "Ended updates of devices by outcome", {
			outcome: updateOutcomes,
		}),
		/** Relay delay in seconds, observed once per turn of the event loop. */
		relay: new Histogram({
			name: "gateway_relay_seconds",
			help: "Time from the arrival of an uplink until it was written to the sockets of all monitors",
			buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1],
			registers,
		}),
		/** Adds a gauge. @param read returns its value, called when metrics are read */
		watch(name: string, help: string, read: () => number | Promise<number>): void {
			const collect = async () => gauge.set(await read());
			const gauge: Gauge = new Gauge({ name, help, registers, collect });
		},
		/**
		 * Adds a gauge that counts items by their labels.
		 * @param read returns the labels of each item, always in the same order; called when metrics are read
		 */
		watchCounts<L extends string>(
			name: string,
			help: string,
			labelNames: readonly L[],
			read: () => Iterable<Readonly<Record<L, string>>>,
		): void {
			const collect = () => {
				const counts = new Map<string, { readonly labels: Readonly<Record<L, string>>; count: number }>();
				for (const labels of read()) {
					const key = JSON.stringify(labels);
					const counted = counts.get(key);
					if (counted) counted.count += 1;
					else counts.set(key, { labels, count: 1 });
				}
				gauge.reset();
				for (const { labels, count } of counts.values()) gauge.set(labels, count);
			};
			const gauge: Gauge<L> = new Gauge({ name, help, labelNames, registers, collect });
		},
	};
}

/** Lists all combinations of the values. */
function combinationsOf<L extends string>(labels: KnownLabels<L>) {
	return keysOf(labels).reduce<readonly Partial<Record<L, string | number>>[]>(
		(found, name) =>
			found.flatMap((combination) => labels[name].map((value) => ({ ...combination, [name]: value }))),
		[{}],
	);
}

/** Metrics that enumerate all open sockets, which would block the event loop for 25 ms with 10,000 devices. */
const perSocket = [
	"process_open_fds",
	"nodejs_active_handles",
	"nodejs_active_handles_total",
	"nodejs_active_resources",
	"nodejs_active_resources_total",
] as const;

/** Adds the default metrics of Node and its process: memory, CPU time, garbage collection, event loop delay. */
export function collectProcessMetrics(registry: Registry): void {
	collectDefaultMetrics({ register: registry });
	for (const name of perSocket) registry.removeSingleMetric(name);
}
