/** Finds the devices that a person has named, one by one or as a room. */

import { thereAre } from "../api/client/words.js";
import type { Targets } from "../api/targets.js";
import { HttpProblem } from "../problem.js";
import type { Device } from "../sessions/device.js";

/** @returns ids, known or not, each once @throws {HttpProblem} 422 */
export function targetsOf(
	devices: ReadonlyMap<string, Device>,
	{ all, room, devices: ids }: Targets,
): readonly string[] {
	if ([all, room, ids].filter((each) => each !== undefined && each !== false && each !== "").length !== 1)
		throw new HttpProblem(
			422,
			'targets is one of {"all": true}, {"room": "Kitchen"} and {"devices": ["dev-1-a1b2c3"]}.',
		);
	const known = [...devices.values()].filter(({ label }) => all || label.room === room);
	const found = ids ? [...new Set(ids)] : known.map(({ deviceId }) => deviceId);
	if (found.length > 0) return found;
	if (room === undefined) throw new HttpProblem(422, "targets names no device.");
	throw new HttpProblem(
		422,
		`No device is in the room ${room}; ${thereAre("room", roomsLike(room, devices.values()))}.`,
	);
}

/** Those that differ in case alone come first. */
function roomsLike(room: string, devices: Iterable<Device>): readonly string[] {
	const rooms = new Set([...devices].flatMap(({ label }) => label.room ?? []));
	const differs = (other: string) => Number(other.toLowerCase() !== room.toLowerCase());
	return [...rooms].sort((a, b) => differs(a) - differs(b) || a.localeCompare(b, "en"));
}
