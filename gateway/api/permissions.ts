/** Roles that may use routes and send commands: the gateway enforces them, and the page disables controls by them. */

import type { CommandName } from "../../device/protocol/messages.js";
import { entryOf } from "../../device/protocol/schema.js";
import type { Person, PersonRole } from "./person.js";

type Roles = readonly PersonRole[];
export const everyone: Roles = ["monitor", "user", "viewer"];
export const monitors: Roles = ["monitor"];
export const users: Roles = ["monitor", "user"];
export const viewers: Roles = ["monitor", "viewer"];

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
