/** Server of a benchmark, the gateway or a bare `ws` server, with its own devices and monitors. */

import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import type { Owner } from "../support/cleanup.js";
import { type Child, start } from "./child.js";
import type { Target } from "./load/connect.js";
import type { Devices } from "./load/devices.js";
import type { Monitors } from "./load/monitors.js";
import type { GatewayServer, ListenOptions } from "./servers/gateway-server.js";
import type { ReferenceServer } from "./servers/reference-server.js";
import type { Usage } from "./servers/usage.js";

export interface Relayed {
	/** Processor time of the server per report, in microseconds. */
	readonly cpuMicros: number;
	readonly p50Micros: number;
	readonly p99Micros: number;
	/** Lost reports over all monitors. */
	readonly lost: number;
}

export interface Load {
	/** Reports of all devices together. */
	readonly count: number;
	readonly perSecond: number;
}

/** Warm-up, so that all code is compiled. */
export const warmUp: Load = { count: 4000, perSecond: 4000 };

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
	readonly #owner: Owner;
	readonly #server: Child<GatewayServer | ReferenceServer>;
	readonly #hasLowPriority: boolean;
	#devices: Child<Devices> | undefined;
	#monitors: Child<Monitors> | undefined;
	#monitorCount = 0;

	private constructor(
		t: Owner,
		server: Child<GatewayServer | ReferenceServer>,
		listening: Awaited<ReturnType<ReferenceServer["listen"]>>,
		hasLowPriority = false,
	) {
		const { url, tokens } = listening;
		const base = url.replace("http", "ws");
		this.#owner = t;
		this.#server = server;
		this.#hasLowPriority = hasLowPriority;
		this.url = url;
		this.device = { url: `${base}/device`, token: tokens.device };
		this.monitor = { url: `${base}/monitor`, token: tokens.monitor };
	}

	/**
	 * Starts the gateway's process with the Node options of `npm start`.
	 *
	 * @param options see gateway-server.ts @param hasLowPriority of its clients
	 */
	static async gateway(t: Owner, options?: ListenOptions, hasLowPriority?: boolean): Promise<Side> {
		const packageFile = new URL("../../package.json", import.meta.url);
		const { scripts }: { scripts: { start: string } } = JSON.parse(readFileSync(packageFile, "utf8"));
		const nodeOptions = scripts.start
			.split(" ")
			.filter((word) => word.startsWith("--") && word !== "--import");
		const server: Child<GatewayServer> = start(t, "servers/gateway-server.ts", { nodeOptions });
		return new Side(t, server, await server.request("listen", options), hasLowPriority);
	}

	static async bare(t: Owner): Promise<Side> {
		const server: Child<ReferenceServer> = start(t, "servers/reference-server.ts");
		return new Side(t, server, await server.request("listen"));
	}

	/** Process of its devices. */
	get devices(): Child<Devices> {
		this.#devices ??= start(this.#owner, "load/devices.ts", { hasLowPriority: this.#hasLowPriority });
		return this.#devices;
	}

	/** Process of its monitors. */
	get monitors(): Child<Monitors> {
		this.#monitors ??= start(this.#owner, "load/monitors.ts", { hasLowPriority: this.#hasLowPriority });
		return this.#monitors;
	}

	/** @returns the server's resident memory per connection, in KB */
	async connectDevices(count: number, first = 0): Promise<number> {
		// Compiled code and the like are not a cost of a connection. A gateway alone rejects more than 10,000 devices.
		const others = Math.min(500, Math.max(0, 10_000 - count));
		await this.devices.request("connect", { target: this.device, count: others, first: 10_000_000 + first });
		await this.devices.request("introduce", { perSecond: 2000 });
		await this.devices.request("disconnect");
		await setTimeout(settleMs);
		const before = await this.usage(true);
		await this.devices.request("connect", { target: this.device, count, first });
		await this.devices.request("introduce", { perSecond: 4000 });
		await this.settle(count);
		const after = await this.usage(true);
		return (after.rss - before.rss) / count / 1024;
	}

	/** Waits until the server's work for new devices is done, such as writing their records. */
	async settle(devices: number): Promise<void> {
		const idleMicros = settleMs * (1000 * idleShare + (idleMicrosADevice * devices) / 1000);
		for (let left = settleTries; left > 0; left -= 1) {
			const before = await this.cpuMicros();
			await setTimeout(settleMs);
			if ((await this.cpuMicros()) - before < idleMicros) return;
		}
	}

	/** Connects more monitors, up to `count`. */
	async setMonitors(count: number): Promise<void> {
		if (count > this.#monitorCount)
			await this.monitors.request("connect", { target: this.monitor, count: count - this.#monitorCount });
		this.#monitorCount = Math.max(count, this.#monitorCount);
	}

	/** Stops it as SIGTERM does, or kills it. */
	async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
		if (signal === "SIGTERM") await this.#server.request("stop");
		await this.#server.kill();
	}

	usage(isSettled = false): Promise<Usage> {
		return this.#server.request("usage", { isSettled });
	}

	async cpuMicros(): Promise<number> {
		return (await this.usage()).cpuMicros;
	}

	/** Relays reports of its devices. @param to gateway of the monitors */
	async relay(load: Load, to: Side = this): Promise<Relayed> {
		const used = async () => (await this.cpuMicros()) + (to === this ? 0 : await to.cpuMicros());
		const before = await used();
		await to.monitors.request("start");
		const { sent } = await this.devices.request("send", load);
		const { lost, ...latency } = await to.monitors.request("finish", { expected: sent });
		// Only a monitor would show when the server has read the last report.
		if (to.#monitorCount === 0) await setTimeout(100);
		const unsent = (load.count - sent) * to.#monitorCount;
		return { ...latency, lost: lost + unsent, cpuMicros: ((await used()) - before) / sent };
	}
}
