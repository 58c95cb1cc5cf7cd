/** Gateway process that can be killed, with a disk and a clock that fail on request. */

import v8 from "node:v8";
import { extensions } from "../../gateway/extensions.js";
import { Gateway } from "../../gateway/gateway.js";
import { StartError } from "../../gateway/problem.js";
import { Session } from "../../gateway/sessions/device.js";
import { ServerSocket } from "../../gateway/sockets/server-socket.js";
import { createLog } from "../../gateway/telemetry/log.js";
import { serve } from "../bench/child.js";
import { deviceToken, monitorToken } from "../support/gateway-settings.js";
import { type DiskFault, FailingDisk } from "./failing-disk.js";

const failing = new FailingDisk();
let clockOffsetMs = 0;
let aheadMs = 0;
let load: NodeJS.Timeout | undefined;
const loadEveryMs = 250;
setClock();
process.on("uncaughtException", (error) => {
	log.fatal({ err: error }, "fatal error, exiting");
	process.exit(1);
});

const log = createLog("debug");
let gateway: Gateway | undefined;

const handlers = {
	/** @returns its port, or why it does not listen */
	listen: async ({ dataDir, releasesDir, offsetMs }: ListenOptions) => {
		clockOffsetMs = offsetMs;
		gateway = new Gateway({
			port: 0,
			extensions,
			dataDir,
			releasesDir,
			deviceToken,
			monitorToken,
			log,
			disk: failing.disk,
			now: () => Date.now(),
			monotonic: () => performance.now() + aheadMs,
			// A stalled connection is detected within the run; one address stands for all.
			limits: { pingIntervalMs: 1500, upgradesInTwoSeconds: 100_000, closeTimeoutMs: 2000 },
		});
		try {
			return { port: (await gateway.listen()).port };
		} catch (error) {
			if (error instanceof StartError) return { rejection: error.message };
			throw error;
		}
	},
	disk: ({ fault }: { readonly fault: DiskFault | null }) => {
		failing.fault = fault ?? undefined;
	},
	/** Sets the wall clock relative to this computer's. */
	clock: ({ offsetMs }: { readonly offsetMs: number }) => {
		clockOffsetMs = offsetMs;
	},
	/** Occupies four fifths of the event loop. */
	load: ({ isOn }: { readonly isOn: boolean }) => {
		clearInterval(load);
		load = isOn ? setInterval(block, loadEveryMs) : undefined;
	},
	/** Advances the monotonic clock. */
	pass: ({ ms }: { readonly ms: number }) => {
		aheadMs += ms;
	},
	/** Heap bytes, WebSockets and sessions after a garbage collection, as V8 counts them. */
	inUse: () => {
		for (let pass = 0; pass < 3; pass++) globalThis.gc?.();
		// Not process.memoryUsage, which needs a file descriptor.
		const { used_heap_size: onHeap, external_memory: offHeap } = v8.getHeapStatistics();
		const count = (of: new (...parameters: never[]) => object) => v8.queryObjects(of, { format: "count" });
		const open = process.getActiveResourcesInfo().filter((name) => name.startsWith("TCP")).length;
		return { heap: onHeap + offHeap, webSockets: count(ServerSocket), sessions: count(Session), tcp: open };
	},
	close: () => gateway?.close(),
};
export type GatewayChild = typeof handlers;

export interface ListenOptions {
	readonly dataDir: string;
	readonly releasesDir: string;
	readonly offsetMs: number;
}

function block(): void {
	const end = performance.now() + loadEveryMs * 0.8;
	while (performance.now() < end);
}

/** Replaces `Date` by that of the set clock. */
function setClock(): void {
	const RealDate = Date;
	const now = () => RealDate.now() + clockOffsetMs;
	globalThis.Date = new Proxy(RealDate, {
		construct: (target, parameters, newTarget) =>
			Reflect.construct(target, parameters.length === 0 ? [now()] : parameters, newTarget),
		get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
	});
}

serve(handlers);
