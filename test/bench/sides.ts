/** Two sides of a relay benchmark, the gateway and a bare `ws` server, each with its own devices and monitors. */

import { setTimeout } from "node:timers/promises";
import type { SocketLimits } from "../../gateway/limits.js";
import { Child } from "./child.js";
import type { Target } from "./load/connect.js";
import type { Devices } from "./load/devices.js";
import type { Monitors } from "./load/monitors.js";
import type { BareServer } from "./servers/bare-server.js";
import type { GatewayServer } from "./servers/gateway-server.js";
import { startGateway } from "./servers/start-gateway.js";
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
const settleTries = 120;
/** Settled load as a share of a core; a fleet's heartbeats continue. */
const idleShare = 0.06;

export class Side {
	readonly devices = new Child<Devices>("load/devices.ts");
	readonly monitors = new Child<Monitors>("load/monitors.ts");
	readonly device: Target;
	readonly monitor: Target;
	readonly #server: Child<GatewayServer | BareServer>;
	#monitorCount = 0;

	private constructor(server: Child<GatewayServer | BareServer>, device: Target, monitor: Target) {
		this.#server = server;
		this.device = device;
		this.monitor = monitor;
	}

	/** @param limits see `listen` of gateway-server.ts */
	static async gateway(limits?: Partial<SocketLimits>): Promise<Side> {
		const server = startGateway();
		const { url, tokens } = await server.request("listen", limits);
		const base = url.replace("http", "ws");
		return new Side(
			server,
			{ url: `${base}/device`, token: tokens.device },
			{ url: `${base}/monitor`, token: tokens.monitor },
		);
	}

	static async bare(): Promise<Side> {
		const server = new Child<BareServer>("servers/bare-server.ts");
		const { url } = await server.request("listen");
		const base = url.replace("http", "ws");
		return new Side(server, { url: `${base}/device`, token: "" }, { url: `${base}/monitor`, token: "" });
	}

	/** @returns the server's memory per connection, in bytes */
	async connectDevices(count: number): Promise<{ rss: number; heap: number }> {
		await this.#warmUp();
		const before = await this.usage(true);
		await this.devices.request("connect", { target: this.device, count });
		await this.devices.request("introduce", { perSecond: 4000 });
		await this.#settle();
		const after = await this.usage(true);
		return { rss: (after.rss - before.rss) / count, heap: (after.heap - before.heap) / count };
	}

	/** Connects other devices first, because compiled code and the like are not a cost of a connection. */
	async #warmUp(): Promise<void> {
		const others = new Child<Devices>("load/devices.ts");
		try {
			await others.request("connect", { target: this.device, count: 500, first: 1_000_000 });
			await others.request("introduce", { perSecond: 2000 });
		} finally {
			await others.close();
		}
		await setTimeout(500);
	}

	/** Waits until the server's work for new devices is done, such as writing their records. */
	async #settle(): Promise<void> {
		for (let left = settleTries; left > 0; left -= 1) {
			const { cpuMicros } = await this.usage();
			await setTimeout(settleMs);
			if ((await this.usage()).cpuMicros - cpuMicros < settleMs * 1000 * idleShare) return;
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

	async relay(load: Load): Promise<Relayed> {
		const before = await this.usage();
		const began = performance.now();
		await this.monitors.request("start");
		const { sent } = await this.devices.request("send", load);
		const seconds = (performance.now() - began) / 1000;
		const { lost, ...latency } = await this.monitors.request("finish", { expected: sent });
		// Only a monitor would show when the server has read the last report.
		if (this.#monitorCount === 0) await setTimeout(100);
		const { cpuMicros } = await this.usage();
		const used = cpuMicros - before.cpuMicros;
		return {
			cpuMicros: used / sent,
			share: used / 1e6 / seconds,
			...latency,
			lost: lost + (load.count - sent) * this.#monitorCount,
		};
	}

	async close(): Promise<void> {
		await Promise.all([this.devices.close(), this.monitors.close(), this.#server.close()]);
	}
}

/** Closes both sides afterwards. */
export async function withSides<T>(use: (ours: Side, reference: Side) => Promise<T>): Promise<T> {
	const [ours, reference] = await Promise.all([Side.gateway(), Side.bare()]);
	try {
		return await use(ours, reference);
	} finally {
		await Promise.all([ours.close(), reference.close()]);
	}
}
