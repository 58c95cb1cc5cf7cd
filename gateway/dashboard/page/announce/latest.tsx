/** The latest announcements, of all people: how each goes or went, what devices say of it, and a button that plays it again. */

import { useEffect, useId } from "preact/hooks";
import type { AnnouncementList, Play, PlayState } from "../../../api/announcement.js";
import { ask } from "../../../api/client/request.js";
import { age, plural } from "../../../api/client/words.js";
import { useApp, useNow, useResource, useTopic } from "../app/hooks.js";
import { Job } from "../model/job.js";
import { playKind, playText } from "../model/plays.js";
import { Button, fewDevices } from "../parts/button.js";
import { Problem } from "../parts/problem.js";
import { Rows } from "../parts/rows.js";
import { DeviceLink } from "../views/device-link.js";

const shownAtMost = 5;

type Head = AnnouncementList["announcements"][number];

export function Latest() {
	const { announcements } = useTopic("announcements");
	const latest = useResource(() => ask<AnnouncementList>("api/announcements"));
	const heads = latest.value?.announcements ?? [];
	const jobs = new Map(announcements.all);
	const changes = announcements.all.map(([id, { isRunning }]) => `${id} ${isRunning}`).join();
	useEffect(() => {
		if (changes !== "") void latest.refresh();
	}, [latest, changes]);
	const unlisted = announcements.all.filter(([id]) => heads.every((head) => head.id !== id)).reverse();
	return (
		<>
			{unlisted.map(([id, job]) => (
				<Plays key={id} job={job} />
			))}
			{heads.slice(0, shownAtMost).map((head) => (
				<Plays key={head.id} job={jobs.get(head.id) ?? jobOf(head)} head={head} />
			))}
		</>
	);
}

/** Without what each device says. */
function jobOf({ id, name, counts }: Head): Job<Play> {
	const cancel = () => ask(`api/announcements/${id}`, { method: "DELETE" });
	const job = new Job<Play>({ title: name ?? "Announcement", kind: playKind, cancel });
	job.take([], counts);
	return job;
}

/** @param head undefined: not read yet */
function Plays({ job, head }: { readonly job: Job<Play>; readonly head?: Head }) {
	const { announcements } = useApp();
	const { title, text, isRunning, problem, parts, cancel } = job;
	const headingId = useId();
	const now = useNow(10_000);
	const devices = plural(job.count(), "device");
	const again = head?.again;
	const { all, room } = again?.targets ?? {};
	const question = { title: `Play ${title} again?`, text: <p>It is for {devices}.</p> };
	return (
		<article class="panel results" aria-labelledby={headingId}>
			<div class="results-head">
				<h2 id={headingId}>{title}</h2>
				<p role="status">{text}</p>
				{isRunning && (
					<Button look="small" action="play_sound" onClick={cancel}>
						Stop
					</Button>
				)}
				{!isRunning && head && (
					<>
						<p class="hint">
							{all ? "All devices" : (room ?? devices)},{" "}
							<time dateTime={head.createdAt}>{age(now - Date.parse(head.createdAt))}</time>
							{!again && ". Its sound is gone."}
						</p>
						{again && (
							<Button
								look="small"
								label={`Play again: ${title}`}
								action="play_sound"
								question={job.count() > fewDevices && question}
								onClick={() => announcements.begin(again)}
							>
								Play again
							</Button>
						)}
					</>
				)}
				<Problem>{problem}</Problem>
			</div>
			{parts.length > 0 && (
				<Rows label="Devices" items={parts} keyOf={({ deviceId }) => deviceId} look="play">
					{(play) => (
						<>
							<DeviceLink deviceKey={play.deviceId} />
							<span class={lookOf(play.state)}>{playText(play)}</span>
						</>
					)}
				</Rows>
			)}
		</article>
	);
}

function lookOf(state: PlayState): string {
	if (state === "played") return "good";
	return ["failed", "unsupported", "busy", "away"].includes(state) ? "problem" : "hint";
}
