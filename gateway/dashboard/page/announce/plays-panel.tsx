/** What each device says of an announcement, failures first. */

import { useId } from "preact/hooks";
import type { Play, PlayState } from "../../../api/announcement.js";
import type { Job } from "../model/job.js";
import { playText } from "../model/plays.js";
import { Button } from "../parts/button.js";
import { Problem } from "../parts/problem.js";
import { Rows } from "../parts/rows.js";
import { DeviceLink } from "../views/device-link.js";

export function PlaysPanel({ job: { title, text, isRunning, problem, parts, cancel } }: { job: Job<Play> }) {
	const headingId = useId();
	return (
		<section class="panel results" aria-labelledby={headingId}>
			<div class="results-head">
				<h2 id={headingId}>{title}</h2>
				<p role="status">{text}</p>
				<Problem>{problem}</Problem>
				{isRunning && (
					<Button look="small" action="play_sound" onClick={cancel}>
						Stop
					</Button>
				)}
			</div>
			<Rows label="Devices" items={parts} keyOf={({ deviceId }) => deviceId} look="play">
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
