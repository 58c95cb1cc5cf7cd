/** What is done to many devices: its progress, and each device's answer on request. It lies where it was asked for, at the bottom. */

import { useId, useState } from "preact/hooks";
import { type CommandState, commandStates } from "../../../api/statuses.js";
import { useLeaveWarning, useTopic } from "../app/hooks.js";
import type { Job } from "../model/job.js";
import { Button } from "../parts/button.js";
import { Progress } from "../parts/presence.js";
import { Rows } from "../parts/rows.js";
import { DeviceLink } from "./device-link.js";

const words: Readonly<Record<CommandState, string>> = {
	failed: "failed",
	unsupported: "not supported",
	away: "away",
	cancelled: "not begun",
	asked: "asked",
	waiting: "to come",
	done: "done",
};
const bad: readonly CommandState[] = ["failed", "unsupported"];

export function JobBars() {
	const { jobs } = useTopic("jobs");
	useLeaveWarning(jobs.needsPage);
	return jobs.all.map(([id, job]) => <JobBar key={id} job={job} onClose={() => jobs.close(id)} />);
}

function JobBar({ job, onClose }: { job: Job; onClose: () => void }) {
	const id = useId();
	const [isOpen, setIsOpen] = useState(false);
	const { title, counts, isRunning, isOfPage } = job;
	const shown = commandStates.filter((state) => counts[state] > 0);
	const total = shown.reduce((sum, state) => sum + counts[state], 0);
	const failed = counts.failed + counts.unsupported;
	const percent = ((total - counts.asked - counts.waiting) / Math.max(1, total)) * 100;
	return (
		<section class="selection job" aria-labelledby={id}>
			{isOpen && <Answers job={job} />}
			<div class="job-head">
				<h2 id={id}>{title}</h2>
				<p role="status">
					{shown.map((state) => `${counts[state].toLocaleString("en")} ${words[state]}`).join(", ")}
				</p>
				{isRunning && isOfPage && <p class="hint">Keep this page open.</p>}
				<Button look="quiet small" isOpen={isOpen} onClick={() => setIsOpen(!isOpen)}>
					Answers
				</Button>
				{counts.waiting > 0 && (
					<Button look="small" onClick={job.cancel}>
						Cancel
					</Button>
				)}
				{!isRunning && (
					<Button look="small" onClick={onClose}>
						Close
					</Button>
				)}
			</div>
			<Progress percent={percent} label={title} failedPercent={(failed / Math.max(1, total)) * 100} />
		</section>
	);
}

function Answers({ job }: { job: Job }) {
	return (
		<div class="results-list">
			<Rows label="Answers" items={job.parts()} keyOf={({ key }) => key} height={34}>
				{({ key, state, reason }) => (
					<>
						<DeviceLink deviceKey={key} />
						<span class={bad.includes(state) ? "problem" : "hint"}>
							{words[state]}
							{reason && `: ${reason}`}
						</span>
					</>
				)}
			</Rows>
		</div>
	);
}
