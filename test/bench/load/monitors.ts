/** Fast monitors in one process that count relayed reports and record their latency. */

import { setTimeout } from "node:timers/promises";
import { serve } from "../child.js";
import { percentile } from "../harness.js";
import { connectAll, type Target } from "./connect.js";
import { now, sentAt } from "./reports.js";

/** Time without a report after which no more are expected. */
const silenceMs = 2000;

const counts: number[] = [];
let latencies: number[] = [];
let since = 0;

const handlers = {
	/** Connects `count` more. */
	connect: async ({ target, count }: { target: Target; count: number }) => {
		const first = counts.length;
		await connectAll(target, count, (socket, index) => {
			counts[first + index] = 0;
			socket.on("message", (data) => {
				if (!(data instanceof Buffer)) return;
				const sent = sentAt(data);
				if (sent === undefined || sent < since) return;
				counts[first + index] = (counts[first + index] ?? 0) + 1;
				latencies.push(now() - sent);
			});
		});
	},

	/** Starts counting: earlier reports are ignored. */
	start: () => {
		since = now();
		latencies = [];
		counts.fill(0);
	},

	/** Waits until each monitor has received `expected` reports, or no more arrive. */
	finish: async ({ expected }: { expected: number }) => {
		for (let [before, waitedMs] = [-1, 0]; waitedMs < silenceMs; waitedMs += 20) {
			if (counts.every((count) => count >= expected)) break;
			if (latencies.length !== before) waitedMs = 0;
			before = latencies.length;
			await setTimeout(20);
		}
		return {
			/** Total over all monitors. */
			lost: counts.reduce((sum, count) => sum + Math.max(0, expected - count), 0),
			p50Micros: percentile(latencies, 50),
			p99Micros: percentile(latencies, 99),
		};
	},
};
export type Monitors = typeof handlers;
serve(handlers);
