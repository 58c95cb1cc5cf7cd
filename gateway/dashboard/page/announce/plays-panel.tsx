/** What each device says of an announcement, failures first. */

import { useId } from "preact/hooks";
import type { Play } from "../../../api/announcement.js";
import { useApp, useMayChange, useMedia } from "../app/hooks.js";
import { countText, playText } from "../model/plays.js";
import { Grid } from "../parts/grid.js";
import { Problem } from "../parts/problem.js";
import { useRequest } from "../parts/use-request.js";
import { DeviceLink } from "../views/device-link.js";
import type { Announcer } from "./announcer.js";

interface PlaysPanelProps {
	readonly id: string;
	readonly name: string;
	readonly announcer: Announcer;
}

export function PlaysPanel({ id, name, announcer }: PlaysPanelProps) {
	const { announcements } = useApp();
	const mayChange = useMayChange();
	const isNarrow = useMedia("(max-width: 44rem)");
	const headingId = useId();
	const { run, problem } = useRequest();
	const plays = announcements.get(id);
	const all = plays?.all ?? [];
	const byKey = new Map(all.map((play) => [play.deviceId, play]));
	return (
		<section class="panel results" aria-labelledby={headingId}>
			<div class="results-head">
				<h2 id={headingId}>{name}</h2>
				<p role="status">{plays ? countText(all) : "asked"}</p>
				{!plays?.isOver && (
					<button
						type="button"
						class="small"
						disabled={!mayChange}
						onClick={() => run(() => announcer.stop(id))}
					>
						Stop
					</button>
				)}
			</div>
			<Problem>{problem}</Problem>
			{/* Rows of one height: the longest reason takes three lines on a phone. */}
			<Grid label="Devices" keys={all.map(({ deviceId }) => deviceId)} height={isNarrow ? 60 : 40} gap={0}>
				{(key) => <Row play={byKey.get(key)} />}
			</Grid>
		</section>
	);
}

function Row({ play }: { readonly play: Play | undefined }) {
	if (!play) return null;
	const isBad = ["failed", "unsupported", "busy", "away"].includes(play.state);
	return (
		<div class="row play">
			<DeviceLink deviceKey={play.deviceId} />
			<span class={isBad ? "problem" : play.state === "played" ? "good" : "hint"}>{playText(play)}</span>
		</div>
	);
}
