/** Gateway process, started like `npm start`, in a data folder that is deleted at the end. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { extensions, loadExtensions } from "../../../gateway/extensions.js";
import { Gateway } from "../../../gateway/gateway.js";
import { createFragmentListsLazily } from "../../../gateway/heap.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { deviceToken, monitorToken, noRateLimits } from "../../support/gateway-settings.js";
import { serve } from "../child.js";
import { usage } from "./usage.js";

createFragmentListsLazily();
const ownDir = mkdtempSync(join(tmpdir(), "gateway-bench-"));
process.on("exit", () => rmSync(ownDir, { recursive: true, force: true }));
const registry = new Registry();
let gateway: Gateway | undefined;

export interface ListenOptions {
	/** URL of nats-server. */
	readonly nats?: string;
	/** Whether the gateway's rate limits apply; otherwise one address stands for a whole fleet. */
	readonly isLimited?: boolean;
	/** Default: any free port. */
	readonly port?: number;
	/** Default: a folder of this process. */
	readonly dataDir?: string;
}

const handlers = {
	listen: async (options?: ListenOptions | null) => {
		const { nats, isLimited, port = 0, dataDir = ownDir } = options ?? {};
		const environment = { NATS_URL: nats, NATS_ALLOW_OLD: "1" };
		gateway = new Gateway({
			port,
			...(nats ? await loadExtensions(environment, createLog("warn")) : { extensions }),
			deviceToken,
			monitorToken,
			registry,
			dataDir,
			releasesDir: join(dataDir, "releases"),
			...(!isLimited && noRateLimits),
		});
		const { url } = await gateway.listen();
		return { url, tokens: gateway.tokens };
	},
	/** Value of a metric; of its values that of a label. */
	metric: async ({ name, kind }: { readonly name: string; readonly kind?: string }) => {
		const { values = [] } = (await registry.getSingleMetric(name)?.get()) ?? {};
		return values.find(({ labels }) => labels.kind === kind)?.value ?? 0;
	},
	usage: ({ isSettled }: { isSettled: boolean }) => usage(isSettled),
	/** Stops it as SIGTERM does. */
	stop: () => gateway?.close(),
};
export type GatewayServer = typeof handlers;
serve(handlers);
