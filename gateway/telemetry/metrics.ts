/** Prometheus metrics: events are counted, gauges are read on request. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from "prom-client";

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics(registry: Registry) {
	const registers = [registry];
	const counter = <L extends string>(name: string, help: string, ...labelNames: readonly L[]) =>
		new Counter({ name, help, labelNames, registers });
	const uplinks = new Map<string, number>();
	new Counter({
		name: "gateway_uplinks_total",
		help: "Valid uplinks",
		labelNames: ["type"],
		registers,
		collect() {
			this.reset();
			for (const [type, count] of uplinks) this.inc({ type }, count);
		},
	});
	return {
		registry,
		counter,
		/** Called for each uplink: labels are built when metrics are read. */
		countUplink: (type: string): void => void uplinks.set(type, (uplinks.get(type) ?? 0) + 1),
		droppedUplinks: counter("gateway_dropped_uplinks_total", "Uplinks that were not valid"),
		leftOutFields: counter(
			"gateway_left_out_fields_total",
			"Fields of another model that were left out of a report",
		),
		pausedDevices: counter(
			"gateway_paused_devices_total",
			"Times that a device was not read for a while, as it sent too much",
		),
		commands: counter("gateway_commands_total", "Commands of monitors that were carried out", "type"),
		rejectedCommands: counter("gateway_refused_commands_total", "Commands of monitors that were not", "code"),
		rejectedUpgrades: counter(
			"gateway_refused_upgrades_total",
			"WebSockets not let in, by HTTP status",
			"status",
		),
		updates: counter("gateway_updates_total", "Updates of devices, by how they ended", "outcome"),
		/** In seconds; once per turn of the event loop. */
		relay: new Histogram({
			name: "gateway_relay_seconds",
			help: "From an uplink's arrival until it was written to every monitor's socket, once a turn",
			buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1],
			registers,
		}),
		/** @param ask called on request */
		watch(name: string, help: string, ask: () => number | Promise<number>): void {
			const collect = async () => gauge.set(await ask());
			const gauge: Gauge = new Gauge({ name, help, registers, collect });
		},
		/** Counts things by their labels. @param ask called on request: the labels of each, their names in the same order */
		watchCounts<L extends string>(
			name: string,
			help: string,
			labelNames: readonly L[],
			ask: () => Iterable<Readonly<Record<L, string>>>,
		): void {
			const collect = () => {
				const counts = new Map<string, { readonly labels: Readonly<Record<L, string>>; count: number }>();
				for (const labels of ask()) {
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

/** They list every open socket, for which all would wait 25 ms with 10,000 devices: the gateway counts its own. */
const perSocket = [
	"process_open_fds",
	"nodejs_active_handles",
	"nodejs_active_handles_total",
	"nodejs_active_resources",
	"nodejs_active_resources_total",
] as const;

/** Adds those of Node and its process: memory, processor time, garbage collection, delay of the event loop. */
export function collectProcessMetrics(registry: Registry): void {
	collectDefaultMetrics({ register: registry });
	for (const name of perSocket) registry.removeSingleMetric(name);
}
