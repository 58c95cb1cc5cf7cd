/** Server of a benchmark, the gateway or a bare `ws` server, with its own devices and monitors. */

import { setTimeout } from "node:timers/promises";
import type { Owner } from "../support/cleanup.js";
import type { Child } from "./child.js";
import { start, startGateway } from "./harness.js";
import type { Target } from "./load/connect.js";
import type { Devices } from "./load/devices.js";
import type { Monitors } from "./load/monitors.js";
import type { GatewayServer, ListenOptions } from "./servers/gateway-server.js";
import type { ReferenceServer } from "./servers/reference-server.js";
import type { Usage } from "./servers/usage.js";

export interface Relayed {
	/** Processor time of the server per report, in microseconds. */
	readonly cpuMicros: number;
	/** Share of one core while reports were sent. */
	readonly share: number;
	readonly p50Micros: number;
	readonly p99Micros: number;
	readonly longestMicros: number;
	/** Lost reports over all monitors. */
	readonly lost: number;
}

export interface Load {
	/** Reports of all devices together. */
	readonly count: number;
	readonly perSecond: number;
}

const settleMs = 500;
const settleTries = 240;
/** Settled load as a share of a core; the heartbeats of a fleet continue. */
const idleShare = 0.06;
const idleMicrosADevice = 5;

export class Side {
	/** URL with `http`. */
	readonly url: string;
	readonly device: Target;
	readonly monitor: Target;
	readonly devices: Child<Devices>;
	readonly monitors: Child<Monitors>;
	readonly #server: Child<GatewayServer | ReferenceServer>;
	readonly #gateway: Child<GatewayServer> | undefined;
	#monitorCount = 0;

	private constructor(
		t: Owner,
		server: Child<GatewayServer | ReferenceServer>,
		url: string,
		tokens: { readonly device: string; readonly monitor: string },
		hasLowPriority: boolean,
		gateway?: Child<GatewayServer>,
	) {
		this.#gateway = gateway;
		const base = url.replace("http", "ws");
		this.#server = server;
		this.url = url;
		this.device = { url: `${base}/device`, token: tokens.device };
		this.monitor = { url: `${base}/monitor`, token: tokens.monitor };
		this.devices = start(t, "load/devices.ts", { hasLowPriority });
		this.monitors = start(t, "load/monitors.ts", { hasLowPriority });
	}

	/** @param options see gateway-server.ts @param hasLowPriority of its clients */
	static async gateway(t: Owner, options?: ListenOptions, hasLowPriority = false): Promise<Side> {
		const server = startGateway(t);
		const { url, tokens } = await server.request("listen", options);
		return new Side(t, server, url, tokens, hasLowPriority, server);
	}

	static async bare(t: Owner): Promise<Side> {
		const server: Child<ReferenceServer> = start(t, "servers/reference-server.ts");
		const { url } = await server.request("listen");
		return new Side(t, server, url, { device: "", monitor: "" }, false);
	}

	/** @returns the server's memory per connection, in bytes */
	async connectDevices(count: number, first = 0): Promise<{ rss: number; heap: number }> {
		// Compiled code and the like are not a cost of a connection.
		await this.devices.request("connect", { target: this.device, count: 500, first: 10_000_000 + first });
		await this.devices.request("introduce", { perSecond: 2000 });
		await this.devices.request("disconnect");
		await setTimeout(settleMs);
		const before = await this.usage(true);
		await this.devices.request("connect", { target: this.device, count, first });
		await this.devices.request("introduce", { perSecond: 4000 });
		await this.settle(count);
		const after = await this.usage(true);
		return { rss: (after.rss - before.rss) / count, heap: (after.heap - before.heap) / count };
	}

	/** Waits until the server's work for new devices is done, such as writing their records. */
	async settle(devices: number): Promise<void> {
		const idleMicros = settleMs * (1000 * idleShare + (idleMicrosADevice * devices) / 1000);
		for (let left = settleTries; left > 0; left -= 1) {
			const { cpuMicros } = await this.usage();
			await setTimeout(settleMs);
			if ((await this.usage()).cpuMicros - cpuMicros < idleMicros) return;
		}
	}

	/** Connects more monitors, up to `count`. */
	async setMonitors(count: number): Promise<void> {
		if (count > this.#monitorCount)
			await this.monitors.request("connect", { target: this.monitor, count: count - this.#monitorCount });
		this.#monitorCount = Math.max(count, this.#monitorCount);
	}

	usage(isSettled = false): Promise<Usage> {
		return this.#server.request("usage", { isSettled });
	}

	/** Value of a metric of the gateway. */
	async metric(name: string, kind?: string): Promise<number> {
		return (await this.#gateway?.request("metric", { name, ...(kind && { kind }) })) ?? Number.NaN;
	}

	async relay(load: Load): Promise<Relayed> {
		const before = await this.usage();
		const began = performance.now();
		await this.monitors.request("start");
		const { sent } = await this.devices.request("send", load);
		const seconds = (performance.now() - began) / 1000;
		const { lost, ...latency } = await this.monitors.request("finish", { expected: sent });
		// Only a monitor would show when the server has read the last report.
		if (this.#monitorCount === 0) await setTimeout(100);
		const used = (await this.usage()).cpuMicros - before.cpuMicros;
		const unsent = (load.count - sent) * this.#monitorCount;
		return { ...latency, lost: lost + unsent, cpuMicros: used / sent, share: used / 1e6 / seconds };
	}
}
