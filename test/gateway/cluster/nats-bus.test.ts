import { type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Bus } from "../../../gateway/cluster/bus.js";
import { NatsBus, type NatsOptions } from "../../../gateway/cluster/nats-bus.js";
import { onEnd } from "../../support/cleanup.js";
import { natsMissing, startNats } from "../../support/nats.js";
import { startProxy, type TcpProxy } from "../../support/tcp-proxy.js";
import { testBus } from "./bus-contract.js";

function natsBus(t: TestContext, servers: readonly string[], options: Partial<NatsOptions> = {}) {
	const problems: string[] = [];
	const bus = new NatsBus({
		servers,
		credentials: undefined,
		authority: undefined,
		allowOld: true,
		onProblem: (problem) => problems.push(problem),
		...options,
	});
	onEnd(t, () => bus.close());
	return { bus, problems };
}

function status(bus: Bus, isConnected: boolean): Promise<void> {
	if (bus.isConnected === isConnected) return Promise.resolve();
	return new Promise((resolve) => {
		const stop = bus.onStatus((each) => {
			if (each !== isConnected) return;
			stop();
			resolve();
		});
	});
}

if (natsMissing) test("NATS", { skip: natsMissing });
else {
	testBus("NATS", async (t) => {
		const server = await startNats(t);
		const proxies = new Map<Bus, TcpProxy>();
		return {
			connect: async () => {
				const proxy = await startProxy(t, server.port);
				const { bus } = natsBus(t, [`nats://127.0.0.1:${proxy.port}`]);
				await bus.open();
				proxies.set(bus, proxy);
				return bus;
			},
			cut: async (bus) => {
				proxies.get(bus)?.cut();
				await status(bus, false);
			},
			heal: async (bus) => {
				proxies.get(bus)?.heal();
				await status(bus, true);
			},
			pass: (ms) => pause(ms),
		};
	});
}
