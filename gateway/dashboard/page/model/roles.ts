/** Names and descriptions of the roles of people. */

import type { PersonRole } from "../../../api/person.js";

export const roleNames: Readonly<Record<PersonRole, string>> = {
	monitor: "Admin",
	user: "Member",
	viewer: "View only",
};

export const roleTexts: Readonly<Record<PersonRole, string>> = {
	monitor: "Everything, including people, firmware and settings",
	user: "Play, announce and schedule, set volume and light",
	viewer: "See everything, change nothing",
};

/** @param name of a token; `monitor` is the one without a name */
export function personName(name: string): string {
	return name === "monitor" ? "Admin" : name;
}
