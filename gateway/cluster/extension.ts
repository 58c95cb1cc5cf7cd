/** Cluster of gateways: each shows the devices of all and shares stored data. */

import type { Bus } from "../bus.js";
import type { Core, Extension } from "../extension.js";
import { rejectMessage } from "../sockets/monitor-commands.js";
import { Cluster, clusterLimits } from "./cluster.js";
import { MirrorLink } from "./mirror-link.js";

export function createCluster(core: Core, bus: Bus): Cluster {
	const { firmware, sessions } = core;
	return new Cluster({
		...core,
		limits: { ...clusterLimits, ...core.limits },
		id: core.peers.id,
		bus,
		catalog: firmware.catalog,
		announce: (frame) => core.monitors.broadcast("cluster", frame),
		// Message from another gateway, which must not be forwarded to a third one.
		execute: async (message) => {
			const session = sessions.find(message.targetId);
			if (!session?.link.isRemote) return core.execute(message);
			return rejectMessage(
				"target_offline",
				`${message.targetId} is not connected; wait for its next status_update`,
			);
		},
	});
}

export function extensionOf(cluster: Cluster): Extension {
	return {
		listeners: [cluster.directory.listeners, cluster.listeners],
		channels: { cluster: () => [cluster.frame()] },
		intercept: (message, { link }) =>
			link instanceof MirrorLink && link.member ? cluster.execute(link.member, message) : undefined,
		open: () => cluster.start(),
		close: async () => cluster.leave(),
	};
}
