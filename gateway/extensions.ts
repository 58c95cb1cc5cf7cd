/**
 * The extensions, in the order in which they are opened. Without its line and its folder, a capability is removed.
 */

import type { Logger } from "pino";
import { createAnnouncements } from "./announcements/extension.js";
import { createDashboard } from "./dashboard/extension.js";
import type { CreateExtension, Joined, MessageDocument } from "./extension.js";
import { createFleet } from "./fleet/extension.js";
import { fleetMessages } from "./fleet/messages.js";
import { createGuard } from "./guard/extension.js";
import { createRollouts } from "./rollouts/extension.js";
import type { Settings } from "./settings.js";

export const extensions: readonly CreateExtension[] = [
	createGuard,
	createFleet,
	createRollouts,
	createAnnouncements,
	createDashboard,
];

/** The extensions' messages of monitors, by `type`. */
export const addedMessages: Readonly<Record<string, MessageDocument>> = {
	...fleetMessages,
};

/** Loads extensions that need a setting. @throws {StartError} if a setting cannot be used */
export async function loadExtensions(settings: Settings, log: Logger): Promise<Joined> {
	const joined = await joinOthers(settings, log);
	if (settings.mqtt) return (await import("./home-assistant/extension.js")).withHomeAssistant(joined);
	return joined;
}

async function joinOthers(settings: Settings, log: Logger): Promise<Joined> {
	if (settings.nats) return (await import("./cluster/join.js")).joinOverNats(settings, extensions, log);
	return { extensions };
}
