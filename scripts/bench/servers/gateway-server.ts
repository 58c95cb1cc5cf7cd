/** The gateway as a process, as `npm start` runs it, in a data folder that is deleted at the end. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway } from "../../../gateway/gateway.js";
import { disablePretenuring } from "../../../gateway/heap.js";
import type { SocketLimits } from "../../../gateway/sockets/limits.js";
import { wholeFleetAtOnce } from "../../../test/support/gateway-settings.js";
import { serve } from "../child.js";
import { usage } from "./usage.js";

disablePretenuring();
const dataDir = mkdtempSync(join(tmpdir(), "gateway-bench-"));
process.on("exit", () => rmSync(dataDir, { recursive: true, force: true }));

const handlers = {
	/** @param limits replace the gateway's; without them a whole fleet is accepted in one moment */
	listen: async (limits?: Partial<SocketLimits> | null) => {
		const gateway = createGateway({
			port: 0,
			dataDir,
			releasesDir: join(dataDir, "releases"),
			// One address stands for a whole fleet, which has to be connected before anything is measured.
			...(limits ? { limits } : wholeFleetAtOnce),
		});
		const { url } = await gateway.listen();
		return { url, dataDir, tokens: gateway.tokens };
	},
	usage: ({ isSettled }: { isSettled: boolean }) => usage(isSettled),
};
export type GatewayServer = typeof handlers;
serve(handlers);
