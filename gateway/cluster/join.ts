/**
 * What a gateway needs to act as one with others, over a bus. Loaded only with NATS_URL: what is outside of this folder
 * imports types of it alone.
 */

import type { RolloutService } from "../rollouts/rollouts.js";
import type { RecordStore } from "../storage/json-file-store.js";
import type { Bus } from "./bus.js";
import { Cluster, type ClusterOptions } from "./cluster.js";
import { ReplicatedStore, type ReplicatedStoreOptions } from "./replicated-store.js";
import { type SharedLoginsOptions, shareLogins } from "./shared-logins.js";
import { SharedReleases, type SharedReleasesOptions } from "./shared-releases.js";
import { SharedRollouts, type SharedRolloutsOptions } from "./shared-rollouts.js";
import { SharedTokens, type SharedTokensOptions } from "./shared-tokens.js";
import { SharedUpload, type SharedUploadOptions } from "./shared-upload.js";

type WithoutBus<T> = Omit<T, "bus">;

export type Joined = ReturnType<typeof joinGateways>;

/** @param bus closed by `close` */
export function joinGateways(bus: Bus) {
	return {
		records: <T>(options: WithoutBus<ReplicatedStoreOptions<T>>): RecordStore<T> =>
			new ReplicatedStore({ ...options, bus }),
		tokens: (options: WithoutBus<SharedTokensOptions>) => new SharedTokens({ ...options, bus }),
		logins: (options: WithoutBus<SharedLoginsOptions>) => shareLogins({ ...options, bus }),
		upload: (options: WithoutBus<SharedUploadOptions>) => new SharedUpload({ ...options, bus }),
		releases: (options: WithoutBus<SharedReleasesOptions>) => new SharedReleases({ ...options, bus }),
		cluster: (options: WithoutBus<ClusterOptions>) => new Cluster({ ...options, bus }),
		rollouts: (
			{ id }: Cluster,
			options: Omit<SharedRolloutsOptions, "bus" | "gatewayId" | "ownerOf">,
		): RolloutService =>
			new SharedRollouts({
				...options,
				bus,
				gatewayId: id,
				ownerOf: ({ session }) => session.link.gateway,
			}),
		close: () => bus.close(),
	};
}
