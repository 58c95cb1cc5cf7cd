/** Schedules: announcements and commands at given times, and quiet hours, in the gateway's time zone. */

import { pick } from "../api/json.js";
import { quietHoursRequest } from "../api/quiet-hours.js";
import type { Core, Extension } from "../extension.js";
import { requireValid } from "../http/request-body.js";
import { QuietHoursStore } from "./quiet-hours.js";
import { timesRoutes } from "./routes.js";
import { Schedules } from "./schedules.js";

export function createSchedules(core: Core): Extension {
	const { timeZone: zone } = core.settings;
	const schedules = new Schedules(core, zone);
	const quietHours = new QuietHoursStore(core, zone);
	core.metrics.watchCounts(
		"gateway_schedules",
		"Schedules, by whether they are on, and by what happened at their latest due time",
		["on", "outcome"],
		() => schedules.list().map(({ on, last }) => ({ on: String(on), outcome: last?.outcome ?? "none" })),
	);
	return {
		routes: timesRoutes({ zone, schedules, quietHours }),
		listeners: [
			quietHours.listeners,
			{
				roomRenamed: (from, to) => {
					Promise.all([quietHours.renameRoom(from, to), schedules.renameRoom(from, to)]).catch(
						(error: unknown) =>
							core.log.error(
								{ from, to, err: error },
								"moving schedules and quiet hours of a renamed room failed",
							),
					);
				},
			},
		],
		onReplaced: async (from, by) => {
			await quietHours.move({ device: from }, { device: by });
			await schedules.replaceDevice(from, by);
		},
		services: {
			scheduledSounds: () => schedules.sounds(),
			quietHours: {
				of: (device) => quietHours.of(device),
				set: async (request, by) =>
					quietHours.set(requireValid(quietHoursRequest, pick(quietHoursRequest, request)), by),
			},
		},
		open: async () => {
			await quietHours.open();
			await schedules.open();
		},
		close: async () => {
			schedules.close();
			quietHours.close();
		},
	};
}
