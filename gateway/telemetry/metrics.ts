/**
 * What the gateway does, in numbers that Prometheus understands. Whoever does a thing counts it here; what can be asked
 * for at any time is asked for when somebody reads.
 */

import { Counter, Gauge, Histogram, type Registry } from "prom-client";

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

	/** Asks for a number whenever somebody reads. */
	watch(name: string, help: string, ask: () => number): void {
		const collect = function (this: Gauge) {
			this.set(ask());
		};
		new Gauge({ name, help, registers: [this.#registry], collect });
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
