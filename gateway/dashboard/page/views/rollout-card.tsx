/** One roll-out: its progress by group, why updates failed, and what a person can do. */

import { useEffect } from "preact/hooks";
import {
	countWords,
	endedOf,
	groupWords,
	type Plan,
	percentOf,
	problems,
	type Rollout,
	type RolloutAction,
	type RolloutHead,
	stateText,
	sum,
	totalOf,
	watchWords,
} from "../../../api/client/rollout.js";
import { plural, sentence, when } from "../../../api/client/words.js";
import { deviceWords, failureStatuses, isOver } from "../../../api/statuses.js";
import { useApp, useNow, useTopic } from "../app/hooks.js";
import type { ReadRollout } from "../app/rollouts.js";
import { Button, type Question } from "../parts/button.js";
import { Progress } from "../parts/presence.js";
import { Problem } from "../parts/problem.js";
import { useRequest } from "../parts/use-request.js";
import { DeviceLink } from "./device-link.js";
import { DevicesByStatus, useDevicesOf } from "./rollout-devices.js";

const problemsShown = 10;

export function RolloutCard({ head }: { head: RolloutHead }) {
	const { rollouts } = useTopic("rollouts");
	const rollout = rollouts.get(head.id);
	useEffect(() => void rollouts.read(head.id), [rollouts, head.id]);
	return (
		<article
			class={`rollout ${toneOf(head)}`}
			aria-label={`Roll-out of ${head.version}, begun ${when(head.createdAt)}`}
		>
			<div class="rollout-head">
				<h3>
					{head.version} {rollout && <span>to {targetWords(rollout.plan)}</span>}
				</h3>
				<p class="state" role="status">
					<b>{stateText(head)}</b> {endedOf(head.counts).toLocaleString("en")} of{" "}
					{plural(totalOf(head.counts), "device")}
				</p>
				<Actions head={head} />
			</div>
			{rollout && (
				<>
					<Explanation head={head} rollout={rollout} />
					<Watched rollout={rollout} />
					<Groups head={head} rollout={rollout} />
				</>
			)}
			<Problems head={head} />
			<DevicesByStatus head={head} />
			<p class="hint small">
				Begun {when(head.createdAt)}
				{head.endedAt !== null && `, ended ${when(head.endedAt)}`} · <code>{head.id}</code>
			</p>
		</article>
	);
}

function Actions({ head }: { head: RolloutHead }) {
	const { rollouts } = useApp();
	// A button whose action failed may be gone, as another person has changed the roll-out.
	const { run, problem } = useRequest();
	const { status, pausedBecause, counts } = head;
	const failed = sum(counts, failureStatuses);
	const button = (action: RolloutAction, text: string, look = "", question: Question | false = false) => (
		<Button look={look} isChange question={question} onClick={() => run(() => rollouts.act(head, action))}>
			{text}
		</Button>
	);
	const isPaused = status === "paused";
	return (
		<div class="actions">
			{(status === "running" || status === "scheduled") && button("pause", "Pause")}
			{isPaused && pausedBecause === "approval" && button("approve", "Approve the next group", "primary")}
			{isPaused && pausedBecause !== "approval" && button("resume", "Resume")}
			{failed > 0 && status !== "cancelled" && button("retry", `Retry the ${failed} failed`)}
			{isOver(head) ? (
				<Button
					isChange
					question={{
						title: `Delete the record of ${head.version}, begun ${when(head.createdAt)}?`,
						text: <p>No device changes.</p>,
						loss: { do: "Delete record", keep: "Keep it" },
					}}
					onClick={() => rollouts.remove(head)}
				>
					Delete
				</Button>
			) : (
				button("cancel", "Cancel", "", {
					title: `Cancel the roll-out of ${head.version}?`,
					text: (
						<p>
							{plural(counts.queued, "device")} will not be updated. Updates that have begun are not
							interrupted.
						</p>
					),
					loss: { do: "Cancel roll-out", keep: "Keep it running" },
				})
			)}
			<Problem>{problem}</Problem>
		</div>
	);
}

/** Why the roll-out does not proceed, and what a person can do. */
function Explanation({ head, rollout }: { head: RolloutHead; rollout: Rollout }) {
	const { status, pausedBecause } = head;
	const { plan, group } = rollout;
	if (status === "scheduled") return <p>Begins {when(plan.startsAt)}.</p>;
	if (status !== "paused") return null;
	if (pausedBecause === "approval") return <p>Group {group + 1} begins once it is approved.</p>;
	if (pausedBecause === "operator") return <p>No other update begins. Those that have begun go on.</p>;
	return (
		<p>
			Too many updates failed, so no other begins. Resume continues without counting these failures; Retry
			updates the failed devices again.
		</p>
	);
}

/** Updated devices are watched, so minutes without a result are no fault. */
function Watched({ rollout }: { rollout: ReadRollout }) {
	const { counts, version, soakSecondsLeft, readAt } = rollout;
	const now = useNow(1000);
	if (soakSecondsLeft === null) return null;
	const secondsLeft = Math.max(0, Math.ceil(soakSecondsLeft - Math.max(0, now - readAt) / 1000));
	const verb = counts.soaking === 1 ? "runs" : "run";
	return (
		<p>
			{plural(counts.soaking, "device")} {verb} {version}, {watchWords(secondsLeft, counts.soaking)}.
		</p>
	);
}

function Groups({ head, rollout }: { head: RolloutHead; rollout: Rollout }) {
	const { groups, plan, group: current } = rollout;
	const isStopped = head.status !== "running" && head.status !== "finished";
	return (
		<ol class="groups">
			{groups.map(({ size, counts }, index) => {
				const name = `Group ${index + 1}`;
				const percent = percentOf(counts, size);
				const failedPercent = (100 * sum(counts, problems)) / Math.max(1, endedOf(counts));
				const group = plan.groups[index];
				return (
					<li key={name} aria-current={index === current && !isOver(head) ? "step" : undefined}>
						<span>
							<b>{name}</b> <span class="hint">{group && groupWords(group)}</span>
						</span>
						<span class="numbers">
							{endedOf(counts).toLocaleString("en")} of {size.toLocaleString("en")}
						</span>
						<Progress percent={percent} label={name} isStopped={isStopped} failedPercent={failedPercent} />
						{groups.length > 1 && <span class="hint">{countWords(counts)}</span>}
					</li>
				);
			})}
		</ol>
	);
}

function Problems({ head }: { head: RolloutHead }) {
	const devices = useDevicesOf(head, problems, sum(head.counts, problems))?.devices ?? [];
	if (devices.length === 0) return null;
	return (
		<ul class="problems" aria-label="What went wrong">
			{devices.slice(0, problemsShown).map(({ deviceId, status, reason }) => (
				<li key={deviceId}>
					<DeviceLink deviceKey={deviceId} /> <b>{deviceWords[status]}</b>
					{reason && `: ${sentence(reason)}`}
				</li>
			))}
			{devices.length > problemsShown && (
				<li class="hint">And {plural(devices.length - problemsShown, "other device")}.</li>
			)}
		</ul>
	);
}

function targetWords({ target }: Plan): string {
	if ("devices" in target) return plural(target.devices.length, "device");
	return `all ${target.model}${target.joinLater ? ", also those that join later" : ""}`;
}

/** The meaning of its colours. */
function toneOf({ status, pausedBecause, counts }: RolloutHead): string {
	if (status === "paused") return pausedBecause === "failures" ? "bad" : "warn";
	if (status === "cancelled") return "off";
	return status === "finished" && sum(counts, failureStatuses) > 0 ? "bad" : "";
}
