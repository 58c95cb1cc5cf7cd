/**
 * The extensions, in the order in which they are opened. Without its line and its folder, a capability is removed.
 */

import type { Logger } from "pino";
import { createAnnouncements } from "./announcements/extension.js";
import { createAudit } from "./audit/extension.js";
import { createBackup } from "./backup/extension.js";
import { createCommands } from "./commands/extension.js";
import { createDashboard } from "./dashboard/extension.js";
import { createDiscovery } from "./discovery/extension.js";
import type { CreateExtension, Joined, MessageDocument } from "./extension.js";
import { createFleet } from "./fleet/extension.js";
import { fleetMessages } from "./fleet/messages.js";
import { createGuard } from "./guard/extension.js";
import { createReplacement } from "./replacement/extension.js";
import { createRollouts } from "./rollouts/extension.js";
import { createSchedules } from "./schedules/extension.js";
import type { Settings } from "./settings.js";
import { createWiFi } from "./wifi/extension.js";

export const extensions: readonly CreateExtension[] = [
	createGuard,
	createFleet,
	createRollouts,
	createAnnouncements,
	createAudit,
	createCommands,
	createWiFi,
	createDashboard,
	createSchedules,
	createReplacement,
	createBackup,
	createDiscovery,
];

/** The extensions' messages of monitors, by `type`. */
export const addedMessages: Readonly<Record<string, MessageDocument>> = {
	...fleetMessages,
};

/** Loads extensions that need a setting. @throws {StartError} if a setting cannot be used */
export async function loadExtensions(settings: Settings, log: Logger): Promise<Joined> {
	const { nats, webhooksFile, mqtt } = settings;
	const all = [...extensions];
	let joined: Joined = { extensions: all };
	if (webhooksFile) all.push((await import("./webhooks/extension.js")).webhooksOf(webhooksFile));
	if (nats) joined = await (await import("./cluster/join.js")).joinOverNats(settings, all, log);
	// The last: at its opening the devices of all gateways are known.
	if (mqtt) joined = (await import("./home-assistant/extension.js")).withHomeAssistant(joined);
	return joined;
}
