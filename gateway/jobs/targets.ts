/** Resolves targets to devices: ids, a room, or a tag expression. */

import { messageOf } from "../../device/message-of.js";
import { listNames } from "../api/client/words.js";
import { matchesTags, parseTags, type TagExpression } from "../api/tags.js";
import type { Targets } from "../api/targets.js";
import { RequestError } from "../problem.js";
import type { Device } from "../sessions/device.js";

/** @returns unique ids, known or unknown @throws {RequestError} 422 */
export function targetsOf(
	devices: ReadonlyMap<string, Device>,
	{ all, room, tags, devices: ids }: Targets,
): readonly string[] {
	if (
		[all, room, tags, ids].filter((target) => target !== undefined && target !== false && target !== "")
			.length !== 1
	)
		throw new RequestError(
			422,
			'targets is one of {"all": true}, {"room": "Kitchen"}, {"tags": "shop and not beta"} and {"devices": ["dev-1-7cdfa1a1b2c3"]}.',
		);
	const known = [...devices.values()];
	const chosen = tags
		? devicesWithTags(known, tags)
		: known.filter(({ label }) => all || label.room === room);
	const found = ids ? [...new Set(ids)] : chosen.map(({ deviceId }) => deviceId);
	if (found.length > 0) return found;
	if (room !== undefined)
		throw new RequestError(
			422,
			`No device is in the room ${room}; ${listNames("room", roomsLike(room, known))}.`,
		);
	if (tags !== undefined)
		throw new RequestError(422, `No device has the tags ${tags}; ${listNames("tag", tagsOf(known))}.`);
	throw new RequestError(422, "targets contains no device.");
}

/** @param text tag expression @returns matching devices in the given order @throws {RequestError} 422 if it is invalid */
export function devicesWithTags(devices: Iterable<Device>, text: string): readonly Device[] {
	const expression = readTags(text);
	return [...devices].filter(({ label }) => matchesTags(expression, label.tags));
}

/** @param field name of the field for the message @throws {RequestError} 422 */
export function readTags(text: string, field = "tags"): TagExpression {
	try {
		return parseTags(text);
	} catch (error) {
		throw new RequestError(422, `${field}: ${messageOf(error)}`);
	}
}

function tagsOf(devices: Iterable<Device>): readonly string[] {
	return [...new Set([...devices].flatMap(({ label }) => label.tags ?? []))].sort();
}

/** Returns all rooms; those that differ only in case come first. */
function roomsLike(room: string, devices: Iterable<Device>): readonly string[] {
	const rooms = new Set([...devices].flatMap(({ label }) => label.room ?? []));
	const differs = (other: string) => Number(other.toLowerCase() !== room.toLowerCase());
	return [...rooms].sort((a, b) => differs(a) - differs(b) || a.localeCompare(b, "en"));
}
