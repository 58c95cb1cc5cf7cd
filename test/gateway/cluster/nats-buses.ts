/** Buses on a NATS server, each through its own interruptible proxy. */

import type { TestContext } from "node:test";
import type { Bus } from "../../../gateway/bus.js";
import { NatsBus } from "../../../gateway/cluster/nats/bus.js";
import type { NatsOptions } from "../../../gateway/cluster/nats/link.js";
import { onEnd } from "../../support/cleanup.js";
import { FaultyLink } from "../../support/faulty-link.js";
import { isNatsOld, startNats } from "../../support/nats.js";
import type { Buses } from "./bus-contract.js";

export function natsBus(t: TestContext, servers: readonly string[], options: Partial<NatsOptions> = {}) {
	const problems: string[] = [];
	const bus = new NatsBus({
		servers: servers.map((server) => new URL(server)),
		credentials: undefined,
		authority: undefined,
		allowOld: isNatsOld,
		onProblem: (problem) => problems.push(problem),
		...options,
	});
	onEnd(t, () => bus.close());
	return { bus, problems };
}

/** Resolves once the bus has this connection state. */
export function status(bus: Bus, isConnected: boolean): Promise<void> {
	if (bus.isConnected === isConnected) return Promise.resolve();
	return new Promise((resolve) => {
		const stop = bus.onStatus((connected) => {
			if (connected !== isConnected) return;
			stop();
			resolve();
		});
	});
}

export async function natsBuses(t: TestContext): Promise<Buses> {
	const server = await startNats(t);
	const links = new Map<Bus, FaultyLink>();
	return {
		connect: async () => {
			const link = await FaultyLink.to(t, server.port);
			const { bus } = natsBus(t, [`nats://127.0.0.1:${link.port}`]);
			await bus.open();
			links.set(bus, link);
			return bus;
		},
		cut: async (bus) => {
			links.get(bus)?.route(undefined);
			await status(bus, false);
		},
		heal: async (bus) => {
			links.get(bus)?.route(server.port);
			await status(bus, true);
		},
	};
}
