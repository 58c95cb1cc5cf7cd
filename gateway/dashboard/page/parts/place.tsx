/** Where something is done: on all devices, in a room, or on a device. */

import { placeText } from "../../../api/client/times.js";
import type { Targets } from "../../../api/targets.js";
import { useTopic } from "../app/hooks.js";
import { nameIn, roomsOf } from "../model/filter.js";
import { Choice } from "./field.js";

interface PlaceProps {
	readonly targets: Targets;
	readonly onChange: (targets: Targets) => void;
}

/** Of more devices only the rooms are offered. */
const listedAtMost = 50;

export function Place({ targets, onChange }: PlaceProps) {
	const { fleet } = useTopic("list");
	const entries = fleet.all().filter(({ session }) => session.deviceId !== null);
	const places: Targets[] = [{ all: true }, ...roomsOf(entries).map((room) => ({ room }))];
	if (entries.length <= listedAtMost) places.push(...entries.map(({ key }) => ({ devices: [key] })));
	const chosen = JSON.stringify(targets);
	if (places.every((place) => JSON.stringify(place) !== chosen)) places.push(targets);
	return (
		<Choice
			label="Where"
			value={chosen}
			options={places.map((place) => [JSON.stringify(place), placeText(place, (id) => nameIn(fleet, id))])}
			onChange={(value) => onChange(JSON.parse(value))}
		/>
	);
}
