/** Several gateways as one: each shows the devices of all, and what one stores the others have too. */

import type { Core, Extension, Peers } from "../extension.js";
import { refuse } from "../sockets/monitor-commands.js";
import { Cluster } from "./cluster.js";
import { MirrorLink } from "./mirror-link.js";
import { shareLogins } from "./shared-logins.js";
import { SharedTokens } from "./shared-tokens.js";
import { SharedUpload } from "./shared-upload.js";

/** A store whose records others have too. */
export interface SharedRecords {
	/** Begins to exchange records. */
	start(): void;
	/** Whether it has had all records of the others. */
	readonly hasCaughtUp: boolean;
}

export interface ClusterExtensionOptions {
	readonly core: Core;
	readonly peers: Peers;
	readonly stores: Iterable<SharedRecords>;
}

export function createCluster({ core, peers, stores }: ClusterExtensionOptions): Extension {
	const { tokens, endedLogins, firmware, sessions, log, now } = core;
	const { bus } = peers;
	const onProblemOf = (what: string) => (problem: string) => log.warn({ problem }, what);
	const cluster = new Cluster({
		...core,
		...peers,
		catalog: firmware.catalog,
		beatMs: core.limits.gatewayBeatMs,
		announce: (frame) => core.monitors.broadcast("cluster", frame),
		// From another gateway: it must not be sent on to a third one.
		execute: async (message) => {
			const session = sessions.find(message.targetId);
			if (!session?.link.isRemote) return core.execute(message);
			return refuse(
				"target_offline",
				`${message.targetId} is not connected; wait for its next status_update`,
			);
		},
	});
	const sharedTokens = new SharedTokens({ bus, tokens, now, onProblem: onProblemOf("tokens") });
	const logins = shareLogins({ bus, endedLogins, now, onProblem: onProblemOf("logins") });
	const { uploads } = firmware;
	const upload = new SharedUpload({ bus, uploads, now, onProblem: onProblemOf("firmware") });
	tokens.onRead = (file) => sharedTokens.changed(file);
	endedLogins.onEnded = (file) => logins.changed(file);
	endedLogins.claim = (signature) => logins.claim(signature);
	uploads.onKept = (kept) => upload.changed(kept);
	return {
		sessions: [cluster.sessions],
		channels: { cluster: () => [cluster.frame()] },
		intercept: (message, { link }) =>
			link instanceof MirrorLink ? cluster.requests.execute(link.gateway, message) : undefined,
		gather: (deviceIds) => cluster.gather(deviceIds),
		onMonitorsChanged: () => cluster.onInterest(),
		open: async () => {
			sharedTokens.start();
			logins.start();
			upload.start();
			for (const store of stores) store.start();
			await cluster.start();
		},
		close: async () => {
			cluster.leave();
			await upload.close();
			await sharedTokens.close();
			await logins.close();
		},
	};
}
