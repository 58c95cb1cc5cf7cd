/** Choice of targets: all devices, a room, devices with tags, or one device. */

import { useState } from "preact/hooks";
import { placeText } from "../../../api/client/times.js";
import type { Targets } from "../../../api/targets.js";
import { useTopic } from "../app/hooks.js";
import { nameIn } from "../model/filter.js";
import { devicesIn, roomsOf } from "../model/rooms.js";
import { tagsOf } from "../model/tags.js";
import { Choice } from "./field.js";
import { TagsField } from "./tags-field.js";

interface TargetChoiceProps {
	readonly label: string;
	/** Selected targets; the initial ones always stay among the options. */
	readonly targets: Targets;
	readonly onChange: (targets: Targets) => void;
	/** Whether to offer devices with tags. */
	readonly withTags?: boolean;
}

const byTags: Targets = { tags: "" };

/** Number of devices above which only rooms are offered. */
const maxListed = 50;

export function TargetChoice({ label, targets, onChange, withTags = false }: TargetChoiceProps) {
	const { fleet } = useTopic("list");
	const [initial] = useState(targets);
	const entries = fleet.all().filter(({ session }) => session.deviceId !== null);
	const listed = entries.length <= maxListed ? entries : [];
	const places: readonly Targets[] = [
		{ all: true },
		...roomsOf(entries).map((room) => ({ room })),
		...(withTags && tagsOf(entries).length > 0 ? [byTags] : []),
		...listed.map(({ key }) => ({ devices: [key] })),
		initial,
		targets,
	];
	// The choice stays selected while an expression is typed.
	const keyOf = (place: Targets) => JSON.stringify(place.tags === undefined ? place : byTags);
	const names = new Map(places.map((place) => [keyOf(place), nameOf(place)]));
	function nameOf(place: Targets): string {
		if (place.tags === "") return "Devices with tags…";
		const name = place.tags ? "Devices with tags" : placeText(place, (id) => nameIn(fleet, id));
		if (place.devices) return name;
		return `${name} (${devicesIn(place, entries).length.toLocaleString("en")})`;
	}
	return (
		<>
			<Choice
				label={label}
				value={keyOf(targets)}
				options={[...names]}
				onChange={(value) => onChange(JSON.parse(value))}
			/>
			{targets.tags !== undefined && (
				<TagsField value={targets.tags} entries={entries} onInput={(tags) => onChange({ tags })} />
			)}
		</>
	);
}
