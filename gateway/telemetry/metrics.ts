/**
 * What the gateway does, in numbers that Prometheus understands. Whoever does a thing counts it here; what can be asked
 * for at any time is asked for when somebody reads.
 */

import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** What can be asked for. */
export interface Gauges {
	readonly gateway_sessions: () => number;
	readonly gateway_known_devices: () => number;
	readonly gateway_monitors: () => number;
	readonly gateway_device_queue_bytes: () => number;
	readonly gateway_monitor_queue_bytes: () => number;
}

const gaugeHelp: Readonly<Record<keyof Gauges, string>> = {
	gateway_sessions: "Devices that are connected",
	gateway_known_devices: "Devices that are known, connected or not",
	gateway_monitors: "Monitors that are connected",
	gateway_device_queue_bytes: "Bytes that devices have not read yet",
	gateway_monitor_queue_bytes: "Bytes that monitors have not read yet",
};

export class Metrics {
	readonly uplinks: Counter<"type">;
	readonly droppedUplinks: Counter;
	readonly pausedDevices: Counter;
	readonly commands: Counter<"type">;
	readonly refusedCommands: Counter<"code">;
	readonly refusedUpgrades: Counter<"status">;
	readonly updates: Counter<"outcome">;
	/** In seconds. */
	readonly relay: Histogram;
	readonly #registry: Registry;

	constructor(registry: Registry) {
		this.#registry = registry;
		const counter = <L extends string>(name: string, help: string, ...labelNames: readonly L[]) =>
			new Counter({ name, help, labelNames, registers: [registry] });
		this.uplinks = counter("gateway_uplinks_total", "Valid uplinks", "type");
		this.droppedUplinks = counter("gateway_dropped_uplinks_total", "Uplinks that were not valid");
		this.pausedDevices = counter(
			"gateway_paused_devices_total",
			"Times that a device was not read for a while, as it sent too much",
		);
		this.commands = counter("gateway_commands_total", "Commands of monitors that were carried out", "type");
		this.refusedCommands = counter(
			"gateway_refused_commands_total",
			"Commands of monitors that were not",
			"code",
		);
		this.refusedUpgrades = counter(
			"gateway_refused_upgrades_total",
			"WebSockets not let in, by HTTP status",
			"status",
		);
		this.updates = counter("gateway_updates_total", "Updates of devices, by how they ended", "outcome");
		this.relay = new Histogram({
			name: "gateway_relay_seconds",
			help: "From an uplink's arrival until every monitor's socket has it",
			buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1],
			registers: [registry],
		});
	}

	/** Asks for these whenever somebody reads. */
	watch(gauges: Gauges): void {
		const ask = (name: keyof Gauges) =>
			new Gauge({
				name,
				help: gaugeHelp[name],
				registers: [this.#registry],
				collect() {
					this.set(gauges[name]());
				},
			});
		ask("gateway_sessions");
		ask("gateway_known_devices");
		ask("gateway_monitors");
		ask("gateway_device_queue_bytes");
		ask("gateway_monitor_queue_bytes");
	}

	/** The media type of `read()`. */
	get contentType(): string {
		return this.#registry.contentType;
	}

	/** Everything, as Prometheus reads it. */
	read(): Promise<string> {
		return this.#registry.metrics();
	}
}
