/** Roles of people, for access control of routes and commands. */

import type { PersonRole } from "./person.js";

export type Roles = readonly PersonRole[];
export const everyone: Roles = ["monitor", "user", "viewer"];
export const monitors: Roles = ["monitor"];
export const users: Roles = ["monitor", "user"];
export const viewers: Roles = ["monitor", "viewer"];

/** Permissions of each role; each completes "This token may". */
export const roleWords: Readonly<Record<PersonRole, string>> = {
	viewer: "look, and change nothing",
	user: "play, stop, announce, identify, and set volume, light and haptics, and nothing else",
	monitor: "do everything",
};
