/** Latest announcements of all people, with the state of each device and a button to play them again. */

import { useEffect } from "preact/hooks";
import type { Play, PlayState } from "../../../api/announcement.js";
import { placeText } from "../../../api/client/times.js";
import { age, plural } from "../../../api/client/words.js";
import { useApp, useNow, useTopic } from "../app/hooks.js";
import { nameIn } from "../model/filter.js";
import type { Job } from "../model/job.js";
import { playText } from "../model/plays.js";
import { fewDevices } from "../model/rooms.js";
import { Button } from "../parts/button.js";
import { Problem } from "../parts/problem.js";
import { Rows } from "../parts/rows.js";

const maxShown = 5;

export function Latest() {
	const { announcements } = useTopic("announcements");
	const latest = announcements.all.slice(-maxShown).reverse();
	return latest.map(([id, job], index) => <Plays key={id} id={id} job={job} isLatest={index === 0} />);
}

interface PlaysProps {
	readonly id: string;
	readonly job: Job<Play>;
	readonly isLatest: boolean;
}

function Plays({ id, job, isLatest }: PlaysProps) {
	const { announcements, fleet } = useApp();
	const { text, isRunning, problem, parts } = job;
	const { title, cancel } = job.options;
	const now = useNow(10_000);
	const devices = plural(job.count(), "device");
	const head = announcements.head(id);
	const isUnread = !isRunning && (head?.endedAt ?? null) === null;
	useEffect(() => {
		// Frames do not contain the request to play it again.
		if (isUnread) void announcements.read(id);
	}, [announcements, id, isUnread]);
	const again = head?.again;
	const question = { title: `Play ${title} again?`, text: `It plays on ${devices}.` };
	const actions = isRunning ? (
		<Button action="play_sound" onClick={cancel}>
			Stop
		</Button>
	) : (
		again && (
			<Button
				label={`Play again: ${title}`}
				action="play_sound"
				question={job.count() > fewDevices && question}
				onClick={() => announcements.start(again)}
			>
				Play again
			</Button>
		)
	);
	return (
		<article class="panel stack" aria-label={title}>
			<header class="panel-head">
				<h2>{title}</h2>
				<div class="actions">{actions}</div>
			</header>
			<p role="status">{text}</p>
			{!isRunning && head && (
				<p class="hint">
					{again ? placeText(again.targets, (id) => nameIn(fleet, id)) : devices},{" "}
					<time dateTime={head.createdAt}>{age(now - Date.parse(head.createdAt))}</time>
					{!again && ". The sound was deleted."}
				</p>
			)}
			<Problem>{problem}</Problem>
			{(isLatest || isRunning) && parts.length > 0 && (
				<Rows label="Devices" items={parts}>
					{(play) => <span class={lookOf(play.state)}>{playText(play)}</span>}
				</Rows>
			)}
		</article>
	);
}

function lookOf(state: PlayState): string {
	if (state === "played") return "good";
	return ["failed", "unsupported", "busy", "away"].includes(state) ? "problem" : "hint";
}
