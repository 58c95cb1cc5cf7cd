/** Gateway process, started like `npm start`, in a data folder that is deleted at the end. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
			dataDir,
			releasesDir: join(dataDir, "releases"),
			...(!isLimited && noRateLimits),
		});
		const { url } = await gateway.listen();
		return { url, tokens: gateway.tokens };
	},
	usage,
	/** Stops it as SIGTERM does. */
	stop: () => gateway?.close(),
};
export type GatewayServer = typeof handlers;
serve(handlers);
