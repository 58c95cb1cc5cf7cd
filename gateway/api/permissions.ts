/** Which people may do what. The gateway refuses by these tables, and the page switches off by them. */

import type { CommandName } from "../../device/protocol/messages.js";
import { entryOf } from "../../device/protocol/schema.js";
import type { Person, PersonRole } from "./person.js";

type Roles = readonly PersonRole[];
const all: Roles = ["monitor", "user", "viewer"];
const monitors: Roles = ["monitor"];
const users: Roles = ["monitor", "user"];
const viewers: Roles = ["monitor", "viewer"];

/** Commands to a device, and the other messages of monitors that change something. */
export type Action = CommandName | "boot_device" | "trigger_ota";

export const actionRoles: Readonly<Record<Action, Roles>> = {
	set_volume: users,
	query_state: users,
	set_led: users,
	play_audio: users,
	play_sound: users,
	start_sound: users,
	stop_sound: users,
	identify: users,
	set_brightness: users,
	set_light: users,
	set_auto_brightness: users,
	set_quiet: monitors,
	set_haptics: users,
	restart: monitors,
	boot_device: monitors,
	trigger_ota: monitors,
	start_ota: monitors,
	set_settings: monitors,
	query_crash: monitors,
	clear_crash: monitors,
	set_log: monitors,
};

/** By method and path. Only monitors may use a route that is missing here. */
export const routeRoles: Readonly<Record<string, Roles>> = {
	"GET /metrics": viewers,
	"GET /api/refusals": all,
	"GET /api/crashes": all,
	"POST /api/attention/seen": monitors,
	"GET /api/devices": all,
	"DELETE /api/devices": monitors,
	"GET /api/devices/:deviceId": all,
	"PATCH /api/devices/:deviceId": monitors,
	"DELETE /api/devices/:deviceId": monitors,
	"GET /api/devices/:deviceId/history": all,
	"POST /api/devices/:deviceId/replace": monitors,
	"DELETE /api/devices/:deviceId/replace": monitors,
	"GET /api/wifi": viewers,
	// With the token of devices a viewer could act as one.
	"GET /api/device-token": monitors,
	"POST /api/device-tokens": monitors,
	"GET /api/device-setup": viewers,
	"GET /api/tokens": monitors,
	"POST /api/tokens": monitors,
	"DELETE /api/tokens/:name": monitors,
	"GET /api/sounds": all,
	"POST /api/sounds": users,
	"GET /api/sounds/:id": all,
	"DELETE /api/sounds/:id": users,
	"GET /sounds/:file": all,
	"POST /api/speech": users,
	"GET /api/announcements": all,
	"POST /api/announcements": users,
	"GET /api/announcements/:id": all,
	"DELETE /api/announcements/:id": users,
	"GET /api/commands": all,
	"POST /api/commands": users,
	"GET /api/commands/:id": all,
	"DELETE /api/commands/:id": users,
	"GET /api/schedules": all,
	"POST /api/schedules": users,
	"PUT /api/schedules/:id": users,
	"DELETE /api/schedules/:id": users,
	"GET /api/quiet-hours": all,
	"PUT /api/quiet-hours": monitors,
	"DELETE /api/quiet-hours/:id": monitors,
	"GET /api/rollouts": all,
	"POST /api/rollouts/preview": viewers,
	"GET /api/rollouts/:id": all,
	"PUT /api/rollouts/:id": monitors,
	"DELETE /api/rollouts/:id": monitors,
	"GET /api/rollouts/:id/devices": all,
	"POST /api/rollouts/:id/pause": monitors,
	"POST /api/rollouts/:id/resume": monitors,
	"POST /api/rollouts/:id/approve": monitors,
	"POST /api/rollouts/:id/cancel": monitors,
	"POST /api/rollouts/:id/retry": monitors,
	"GET /api/audit": viewers,
	// It holds all tokens.
	"GET /api/backup": monitors,
	"GET /api/webhooks": viewers,
	"POST /api/webhooks/:number/test": monitors,
	"POST /ota/upload": monitors,
	"GET /ota/status": all,
	"GET /ota/catalog": all,
	"GET /ota/history": all,
	"GET /ota/firmware.bin": viewers,
	"GET /releases/:path": viewers,
	"GET /login/state": all,
	"POST /login/link": all,
};

/** They change nothing, although they are no GET. */
export const readingRoutes: readonly string[] = ["POST /api/rollouts/preview"];

/** They change nothing, but are in the audit: they hand out all tokens. */
export const auditedReads: readonly string[] = ["GET /api/backup"];

/** @param route such as `GET /api/devices/:deviceId` */
export function rolesOf(route: string): Roles {
	return entryOf(routeRoles, route) ?? monitors;
}

/** @param action of a person; an unknown one is for monitors alone */
export function mayDo({ role }: Person, action: string): boolean {
	return (entryOf(actionRoles, action) ?? monitors).includes(role);
}

/** What the tokens of a role are for, after "This token may". */
export const roleWords: Readonly<Record<PersonRole, string>> = {
	viewer: "look, and change nothing",
	user: "play, stop, announce, identify, and set volume, light and haptics, and nothing else",
	monitor: "do everything",
};
