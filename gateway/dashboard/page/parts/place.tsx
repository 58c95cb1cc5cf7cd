/** Where something is done: on all devices, in a room, or on a device. */

import { useState } from "preact/hooks";
import { placeText } from "../../../api/client/times.js";
import type { Targets } from "../../../api/targets.js";
import { useTopic } from "../app/hooks.js";
import { nameIn, roomsOf } from "../model/filter.js";
import { devicesIn } from "../model/rooms.js";
import { Choice } from "./field.js";

interface PlaceProps {
	readonly label: string;
	/** Those that it begins with stay among what is offered. */
	readonly targets: Targets;
	readonly onChange: (targets: Targets) => void;
}

/** Of more devices only the rooms are offered. */
const listedAtMost = 50;

export function Place({ label, targets, onChange }: PlaceProps) {
	const { fleet } = useTopic("list");
	const [given] = useState(targets);
	const entries = fleet.all().filter(({ session }) => session.deviceId !== null);
	const listed = entries.length <= listedAtMost ? entries : [];
	const places: readonly Targets[] = [
		{ all: true },
		...roomsOf(entries).map((room) => ({ room })),
		...listed.map(({ key }) => ({ devices: [key] })),
		given,
		targets,
	];
	const names = new Map(places.map((place) => [JSON.stringify(place), nameOf(place)]));
	function nameOf(place: Targets): string {
		const name = placeText(place, (id) => nameIn(fleet, id));
		if (place.devices) return name;
		return `${name} (${devicesIn(place, entries).length.toLocaleString("en")})`;
	}
	return (
		<Choice
			label={label}
			value={JSON.stringify(targets)}
			options={[...names]}
			onChange={(value) => onChange(JSON.parse(value))}
		/>
	);
}
