/** Gateway process, started like `npm start`, in a data folder that is deleted at the end. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import type { LoadedExtensions } from "../../../gateway/extension.js";
import { extensions, loadExtensions } from "../../../gateway/extensions.js";
import { Gateway } from "../../../gateway/gateway.js";
import { createFragmentListsLazily } from "../../../gateway/heap.js";
import type { SocketLimits } from "../../../gateway/limits.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { deviceToken, monitorToken, noRateLimits } from "../../support/gateway-settings.js";
import { serve } from "../child.js";
import { usage } from "./usage.js";

createFragmentListsLazily();
const dataDir = mkdtempSync(join(tmpdir(), "gateway-bench-"));
process.on("exit", () => rmSync(dataDir, { recursive: true, force: true }));

let joined: LoadedExtensions = { extensions };
const registry = new Registry();

const handlers = {
	/** Called before `listen`. @param url of nats-server */
	join: async (url: string) => {
		joined = await loadExtensions({ NATS_URL: url, NATS_ALLOW_OLD: "1" }, createLog("warn"));
	},
	/** @param limits replace the gateway's; without them a whole fleet is accepted at once */
	listen: async (limits?: Partial<SocketLimits> | null) => {
		const gateway = new Gateway({
			port: 0,
			...joined,
			...(joined.peers && { deviceToken, monitorToken }),
			registry,
			dataDir,
			releasesDir: join(dataDir, "releases"),
			// One address stands for a whole fleet, which has to be connected before anything is measured.
			...(limits ? { limits } : noRateLimits),
		});
		const { url } = await gateway.listen();
		return { url, dataDir, tokens: gateway.tokens };
	},
	/** Reports published to other gateways. */
	publishedReports: async () => {
		const { values = [] } = (await registry.getSingleMetric("gateway_bus_publishes_total")?.get()) ?? {};
		return values.find(({ labels }) => labels.kind === "report")?.value ?? 0;
	},
	usage: ({ isSettled }: { isSettled: boolean }) => usage(isSettled),
};
export type GatewayServer = typeof handlers;
serve(handlers);
