/**
 * Joins this gateway with others over a bus: what the core is handed for it, and the extension. Loaded only with NATS_URL.
 */

import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import type { Bus } from "../bus.js";
import type { CreateExtension, Joined, Peers } from "../extension.js";
import type { CreateRecords } from "../storage/json-file-store.js";
import { createCluster, type SharedRecords } from "./extension.js";
import { MirrorLink } from "./mirror-link.js";
import { NatsBus } from "./nats-bus.js";
import type { NatsOptions } from "./nats-link.js";
import { ReplicatedStore } from "./replicated-store.js";

const maxDevices = 100_000;

/** @throws {StartError} if the server cannot be used */
export async function joinOverNats(
	nats: Omit<NatsOptions, "onProblem">,
	extensions: readonly CreateExtension[],
	log: Pick<Logger, "warn">,
): Promise<Joined> {
	const bus = new NatsBus({ ...nats, onProblem: (problem) => log.warn({ problem }, "bus") });
	await bus.open();
	return joinGateways(bus, extensions);
}

/** @param bus closed with the gateway @param now milliseconds since 1970 */
export function joinGateways(bus: Bus, extensions: readonly CreateExtension[], now = Date.now): Joined {
	const stores = new Map<string, SharedRecords>();
	const records: CreateRecords = (options) => {
		const store = new ReplicatedStore({ ...options, bus, now });
		stores.set(options.bucket, store);
		return store;
	};
	const peers: Peers = {
		id: randomUUID(),
		bus,
		ownerOf: ({ session: { link } }) => (link instanceof MirrorLink ? link.gateway : undefined),
		knowsDevices: () => stores.get("gw-devices")?.hasCaughtUp === true,
	};
	const cluster: CreateExtension = (core) => createCluster({ core, peers, stores: stores.values() });
	return { extensions: [...extensions, cluster], records, peers, maxDevices };
}
