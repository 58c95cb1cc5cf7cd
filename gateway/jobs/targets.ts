/** Finds the devices that a person has named, one by one or as a room. */

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
	throw new HttpProblem(
		422,
		room === undefined ? "targets names no device." : `No device is in the room ${room}.`,
	);
}
