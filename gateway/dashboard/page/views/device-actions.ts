/** Actions on many devices, one after the other, at a pace that the gateway accepts. */

import { ask as request } from "../../../api/client/request.js";
import type { App } from "../app/app.js";
import type { Ask } from "../model/attempts.js";
import type { SettingsChange } from "../model/settings-changes.js";

export interface DeviceAction {
	/** Such as "Volume 40". */
	readonly title: string;
	readonly ask: Ask;
}

const atATime = 16;
/** With 16 at a time at most 40 a second: the gateway takes 50, of which some are subscriptions. */
const leastMs = 400;
const forgottenAtATime = 4;

/** Starts an action, unless another one runs. */
export function perform(
	{ actions, attempts }: App,
	{ title, ask }: DeviceAction,
	keys: readonly string[],
): void {
	actions.start({
		title,
		keys,
		atATime,
		stopsAtFailure: false,
		change: async (key) => {
			const [reason] = await Promise.all([attempts.done(key, ask), pause(leastMs)]);
			return ended(reason);
		},
	});
}

/** Has the gateway forget devices that are away. */
export function forget({ actions }: App, keys: readonly string[]): void {
	actions.start({
		title: "Forget",
		keys,
		atATime: forgottenAtATime,
		stopsAtFailure: false,
		change: async (key) => {
			try {
				await request(`api/devices/${encodeURIComponent(key)}`, { method: "DELETE" });
				return ended(null);
			} catch (error) {
				return ended(error instanceof Error ? error.message : String(error));
			}
		},
	});
}

function ended(reason: string | null): SettingsChange {
	return { status: reason === null ? "kept" : "failed", reason };
}

function pause(delayMs: number): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, delayMs));
}
