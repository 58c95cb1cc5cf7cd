/** What each device says of an announcement, failures first. */

import { useId } from "preact/hooks";
import type { PlayState } from "../../../api/announcement.js";
import { useApp, useMedia } from "../app/hooks.js";
import { countText, playText } from "../model/plays.js";
import { Button } from "../parts/button.js";
import { Rows } from "../parts/rows.js";
import { DeviceLink } from "../views/device-link.js";
import type { Announcer } from "./announcer.js";

interface PlaysPanelProps {
	readonly id: string;
	readonly name: string;
	readonly announcer: Announcer;
}

export function PlaysPanel({ id, name, announcer }: PlaysPanelProps) {
	const { announcements } = useApp();
	const isNarrow = useMedia("(max-width: 44rem)");
	const headingId = useId();
	const plays = announcements.get(id);
	const all = plays?.all ?? [];
	return (
		<section class="panel results" aria-labelledby={headingId}>
			<div class="results-head">
				<h2 id={headingId}>{name}</h2>
				<p role="status">{plays ? countText(all) : "asked"}</p>
				{!plays?.isOver && (
					<Button look="small" isChange onClick={() => announcer.stop(id)}>
						Stop
					</Button>
				)}
			</div>
			{/* Rows of one height: the longest reason takes three lines on a phone. */}
			<Rows
				label="Devices"
				items={all}
				keyOf={({ deviceId }) => deviceId}
				height={isNarrow ? 60 : 40}
				look="play"
			>
				{(play) => (
					<>
						<DeviceLink deviceKey={play.deviceId} />
						<span class={lookOf(play.state)}>{playText(play)}</span>
					</>
				)}
			</Rows>
		</section>
	);
}

function lookOf(state: PlayState): string {
	if (state === "played") return "good";
	return ["failed", "unsupported", "busy", "away"].includes(state) ? "problem" : "hint";
}
