/**
 * Extensions, in the order in which they are opened. To remove one, delete its line and its folder.
 */

import type { Logger } from "pino";
import { createAnnouncements } from "./announcements/extension.js";
import { createAudit } from "./audit/extension.js";
import { createBackup } from "./backup/extension.js";
import { nats } from "./cluster/settings.js";
import { createCommands } from "./commands/extension.js";
import { createDashboard } from "./dashboard/extension.js";
import { createDiscovery } from "./discovery/extension.js";
import type { CreateExtension, LoadedExtensions, MessageDocument } from "./extension.js";
import { createFleet } from "./fleet/extension.js";
import { createGuard } from "./guard/extension.js";
import { mqtt } from "./home-assistant/settings.js";
import { createReplacement } from "./replacement/extension.js";
import { createRollouts } from "./rollouts/extension.js";
import { createSchedules } from "./schedules/extension.js";
import type { Environment, Setting, Variable } from "./setting.js";
import { coreSettings } from "./settings.js";
import { createWebhooks } from "./webhooks/extension.js";

export const extensions: readonly CreateExtension[] = [
	createGuard,
	createFleet,
	createRollouts,
	createAnnouncements,
	createAudit,
	createCommands,
	createDashboard,
	createSchedules,
	createReplacement,
	createBackup,
	createDiscovery,
	createWebhooks,
];

/** Settings whose extension is loaded only if they have a value. */
const enablingSettings: readonly Setting<unknown>[] = [
	// One line each, removed together with the extension.
	nats,
	mqtt,
];

/** Settings of all extensions, loaded or not. */
export const extensionSettings = [
	...extensions.flatMap(({ settings = [] }) => settings),
	...enablingSettings,
];

/** All environment variables of the gateway and its extensions, in the order of the documentation. */
export function settingsOf(): readonly (readonly [name: string, Variable])[] {
	const settings = [...Object.values(coreSettings), ...extensionSettings];
	return settings.flatMap(({ variables }) => Object.entries(variables));
}

/** Monitor messages added by extensions, by `type`. */
export const addedMessages: Readonly<Record<string, MessageDocument>> = Object.assign(
	{},
	...extensions.map(({ messages }) => messages),
);

/** Loads the extensions that settings enable. @throws {StartError} if a setting is invalid */
export async function loadExtensions(environment: Environment, log: Logger): Promise<LoadedExtensions> {
	for (const setting of extensionSettings) setting.read(environment);
	const joined = await joinCluster({ extensions, environment }, log);
	// Loaded last: when it opens, the devices of all gateways are known.
	if (mqtt.read(environment))
		return (await import("./home-assistant/extension.js")).withHomeAssistant(joined);
	return joined;
}

/** Joins the cluster if NATS_URL is set. @throws {StartError} if the setting is invalid */
export async function joinCluster(
	joined: LoadedExtensions,
	log: Pick<Logger, "warn">,
): Promise<LoadedExtensions> {
	if (nats.read(joined.environment ?? {}))
		return (await import("./cluster/extension.js")).joinOverNats(joined, log);
	return joined;
}
