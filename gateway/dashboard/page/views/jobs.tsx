/** Jobs for many devices at the bottom of the page: progress, and the result of each device on request. */

import { useId, useState } from "preact/hooks";
import { plural } from "../../../api/client/words.js";
import { useApp, useLeaveWarning, useTopic } from "../app/hooks.js";
import type { Job } from "../model/job.js";
import { Button } from "../parts/button.js";
import { Problem } from "../parts/problem.js";
import { Rows } from "../parts/rows.js";
import { SegmentBar } from "../parts/segment-bar.js";

/** Toasts of completed actions, and an expandable bar with running and failed jobs. */
export function JobBars() {
	const { jobs, toasts } = useTopic("jobs");
	const [isOpen, setIsOpen] = useState(false);
	useLeaveWarning(jobs.needsPage);
	const running = jobs.all.filter(([, { isRunning }]) => isRunning).length;
	const ended = jobs.all.length - running;
	const bars = jobs.all.map(([id, job]) => <JobBar key={id} id={id} job={job} />);
	return (
		<>
			<ul class="toasts" aria-live="polite">
				{toasts.all.map(([key, { text, undo }]) => (
					<li key={key}>
						{text}
						{undo && (
							<button type="button" class="small undo" onClick={() => toasts.undo(key)}>
								Undo
							</button>
						)}
					</li>
				))}
			</ul>
			{(isOpen || bars.length === 1) && bars}
			{bars.length > 1 && (
				<section class="selection" aria-label="Jobs">
					<p role="status">
						{[running > 0 && `${running} running`, ended > 0 && `${plural(ended, "task")} finished`]
							.filter(Boolean)
							.join(", ")}
					</p>
					<Button look="small" isOpen={isOpen} onClick={() => setIsOpen(!isOpen)}>
						{isOpen ? "Hide" : "Show"}
					</Button>
				</section>
			)}
		</>
	);
}

function JobBar({ id, job }: { id: string; job: Job }) {
	const { jobs } = useApp();
	const titleId = useId();
	const [isOpen, setIsOpen] = useState(false);
	const { text, isRunning, options } = job;
	const { title, kind, isOfPage, cancel } = options;
	const [total, running] = [job.count(), job.count(...kind.running)];
	const failed = job.count("failed", "unsupported");
	const segments = [
		{ name: "done", tone: "done", count: total - running - failed },
		{ name: "failed", tone: "failed", count: failed },
		{ name: "waiting", tone: "waiting", count: running },
	] as const;
	const toggle = () => {
		setIsOpen(!isOpen);
		if (!isOpen && !isOfPage) void jobs.read(id);
	};
	return (
		<section class="job" aria-labelledby={titleId}>
			{isOpen && (
				<div class="results-list">
					<Rows label="Devices" items={job.parts}>
						{({ state, reason }) => (
							<span class={state === "failed" || state === "unsupported" ? "problem" : "hint"}>
								{kind.words[state]}
								{reason && `: ${reason}`}
							</span>
						)}
					</Rows>
				</div>
			)}
			<div class="job-head">
				<h2 id={titleId}>{title}</h2>
				<p role="status">{text}</p>
				{isRunning && isOfPage && <p class="hint">Keep this page open.</p>}
				<Problem>{job.problem}</Problem>
				<Button look="quiet small" isOpen={isOpen} onClick={toggle}>
					Details
				</Button>
				{isRunning && job.count("waiting") > 0 && (
					<Button look="small" onClick={cancel}>
						Cancel
					</Button>
				)}
				{!isRunning && (
					<Button look="small" onClick={() => jobs.dismiss(id)}>
						Close
					</Button>
				)}
			</div>
			<SegmentBar label={title} segments={segments} percent={(100 * (total - running)) / (total || 1)} />
		</section>
	);
}
