/** Options of an announcement: volume, urgency and a chime before it. */

import type { AnnouncementRequest } from "../../../api/announcement.js";
import { Check } from "../parts/field.js";
import { Limit } from "../parts/limit.js";

/** Announcement without targets. Undefined equals absent. */
export type PlayOptions = {
	readonly [F in Exclude<keyof AnnouncementRequest, "targets">]?: AnnouncementRequest[F] | undefined;
};

interface AnnouncementOptionsProps {
	readonly options: PlayOptions;
	readonly onChange: (changed: PlayOptions) => void;
}

export function AnnouncementOptions({ options, onChange }: AnnouncementOptionsProps) {
	const { volume, priority, chime } = options;
	return (
		<>
			<Check
				label="Chime first"
				checked={chime !== undefined}
				onToggle={(checked) => onChange({ chime: checked ? "attention" : undefined })}
			/>
			<Limit
				text="Set announcement volume"
				label="Announcement volume"
				value={volume}
				usual={60}
				onChange={(value) => onChange({ volume: value })}
			/>
			<Check
				label="Urgent: interrupts and overrides mute"
				checked={priority === "urgent"}
				onToggle={(checked) => onChange({ priority: checked ? "urgent" : undefined })}
			/>
		</>
	);
}
