/** Devices with a valid token that connect and disconnect one after another; each tries once. */

import { setTimeout } from "node:timers/promises";
import { WebSocket } from "ws";
import { serve } from "../child.js";
import { open, type Target } from "./connect.js";

/** Timeout of a device without a response. */
const patienceMs = 10_000;

let isStopped = true;
let visits: Promise<boolean>[] = [];
let running: Promise<unknown> = Promise.resolve();

const handlers = {
	begin: ({ target, perSecond }: { target: Target; perSecond: number }) => {
		isStopped = false;
		visits = [];
		running = (async () => {
			while (!isStopped) {
				visits.push(visit(target));
				await setTimeout(1000 / perSecond);
			}
		})();
	},

	/** @returns numbers of attempts and of rejections */
	stop: async () => {
		isStopped = true;
		await running;
		const letIn = await Promise.all(visits);
		return { tried: letIn.length, refused: letIn.filter((isLetIn) => !isLetIn).length };
	},
};

async function visit(target: Target): Promise<boolean> {
	const outcome = await Promise.race([open(target), setTimeout(patienceMs, undefined, { ref: false })]);
	if (!(outcome instanceof WebSocket)) return false;
	outcome.terminate();
	return true;
}

export type Newcomers = typeof handlers;
serve(handlers);
