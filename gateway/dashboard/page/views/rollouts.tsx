/** Rollouts of the gateway: active ones in detail, ended ones collapsed. */

import { useEffect, useState } from "preact/hooks";
import {
	countWords,
	endedOf,
	groupWords,
	percentOf,
	problems,
	type Rollout,
	type RolloutAction,
	type RolloutDevice,
	type RolloutHead,
	standingWords,
	stateText,
	sum,
	targetWords,
	totalOf,
	watchWords,
} from "../../../api/client/rollout.js";
import { capital, plural, sentence, when } from "../../../api/client/words.js";
import {
	type DeviceStatus,
	deviceStatuses,
	deviceWords,
	failureStatuses,
	isOver,
} from "../../../api/statuses.js";
import { useApp, useNow, useTopic } from "../app/hooks.js";
import type { LoadedRollout } from "../app/rollouts.js";
import { Button, type Question } from "../parts/button.js";
import { Toggles } from "../parts/field.js";
import { Panel } from "../parts/panel.js";
import { Progress } from "../parts/presence.js";
import { Problem } from "../parts/problem.js";
import { Rows } from "../parts/rows.js";
import { useRequest } from "../parts/use-request.js";

export function Rollouts() {
	const { rollouts } = useTopic("rollouts");
	if (rollouts.all.length === 0) return null;
	const order = [...rollouts.all].sort((a, b) => Number(isOver(a)) - Number(isOver(b)));
	return (
		<Panel title="Rollouts">
			{order.map((head) => (
				<OneRollout key={head.id} head={head} />
			))}
		</Panel>
	);
}

function OneRollout({ head }: { head: RolloutHead }) {
	const { rollouts, clock } = useTopic("rollouts");
	const [isOpen, setIsOpen] = useState(() => !isOver(head) || isFresh(head, clock.now()));
	const rollout = rollouts.get(head.id);
	useEffect(() => {
		if (isOpen) void rollouts.load(head.id);
	}, [rollouts, head.id, isOpen]);
	return (
		<details
			class={`rollout ${toneOf(head)}`}
			open={isOpen}
			onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}
		>
			<summary>
				<b>{head.version}</b> {rollout && targetWords(rollout.plan)}{" "}
				<span class="state" role="status">
					<b>{stateText(head)}</b> {endedOf(head.counts).toLocaleString("en")} of{" "}
					{plural(totalOf(head.counts), "device")}
				</span>{" "}
				<time dateTime={head.createdAt}>{when(head.endedAt ?? head.createdAt)}</time>
			</summary>
			{isOpen && (
				<>
					<Actions head={head} />
					{rollout && <Explanation head={head} rollout={rollout} />}
					{rollout && <Groups head={head} rollout={rollout} />}
					<RolloutDevices head={head} />
					<p class="hint small">
						Started {when(head.createdAt)} · <code>{head.id}</code>
					</p>
				</>
			)}
		</details>
	);
}

function Actions({ head }: { head: RolloutHead }) {
	const { rollouts } = useApp();
	// Errors outlive their button, which may disappear when another person changes the rollout.
	const { run, problem } = useRequest();
	const { status, standing, pausedBecause, counts, version } = head;
	const failed = sum(counts, failureStatuses);
	const started = when(head.createdAt);
	const question: Question = isOver(head)
		? {
				title: `Delete the record of ${version}, started ${started}?`,
				text: <p>Devices are not affected.</p>,
				loss: { do: "Delete record", keep: "Keep it" },
			}
		: {
				title: `Cancel the rollout of ${version}?`,
				text: (
					<p>
						{standing
							? "No more devices join it."
							: `${plural(counts.queued, "device")} will not be updated.`}{" "}
						Running updates continue.
					</p>
				),
				loss: { do: "Cancel rollout", keep: "Keep it running" },
			};
	const button = (text: string, action: RolloutAction, look = "") => (
		<Button look={look} isChange onClick={() => run(() => rollouts.act(head, action))}>
			{text}
		</Button>
	);
	return (
		<div class="actions">
			{(status === "running" || status === "scheduled") && button("Pause", "pause")}
			{status === "paused" &&
				(pausedBecause === "approval"
					? button("Approve next group", "approve", "primary")
					: button("Resume", "resume"))}
			{failed > 0 && status !== "cancelled" && button(`Retry ${failed} failed`, "retry")}
			<Button
				isChange
				question={question}
				onClick={() => run(() => (isOver(head) ? rollouts.remove(head) : rollouts.act(head, "cancel")))}
			>
				{isOver(head) ? "Delete" : "Cancel"}
			</Button>
			<Problem>{problem}</Problem>
		</div>
	);
}

/** Explains why a rollout waits, such as during the soak time, and how to continue. */
function Explanation({ head, rollout }: { head: RolloutHead; rollout: LoadedRollout }) {
	const { status, pausedBecause, version } = head;
	const { plan, group, counts, soakSecondsLeft, loadedAt } = rollout;
	const now = useNow(1000);
	const watched = (secondsLeft: number) => {
		const left = Math.max(0, Math.ceil(secondsLeft - Math.max(0, now - loadedAt) / 1000));
		const who = `${plural(counts.soaking, "device")} ${counts.soaking === 1 ? "runs" : "run"}`;
		return `${who} ${version}, ${watchWords(left, counts.soaking)}.`;
	};
	const sentences = [
		status === "scheduled" && `Starts ${when(plan.startsAt)}.`,
		status === "paused" &&
			{
				approval: `Waiting for approval of group ${group + 1}.`,
				operator: "No new updates start. Running updates continue.",
				failures:
					"Paused: too many failures. Resume ignores these failures; Retry updates the failed devices again.",
			}[pausedBecause ?? "operator"],
		soakSecondsLeft !== null && watched(soakSecondsLeft),
		plan.standing && !isOver(head) && sentence(standingWords(plan)),
	].filter((each) => typeof each === "string");
	return sentences.length > 0 ? <p>{sentences.join(" ")}</p> : null;
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

/** Class for the color of a rollout. */
function toneOf({ status, pausedBecause, counts }: RolloutHead): string {
	if (status === "paused") return pausedBecause === "failures" ? "bad" : "warn";
	if (status === "cancelled") return "off";
	return status === "finished" && sum(counts, failureStatuses) > 0 ? "bad" : "";
}

const freshMs = 600_000;

/** Whether a rollout ended less than ten minutes ago; `endedAt` is null until it was loaded. */
function isFresh({ endedAt }: RolloutHead, now: number): boolean {
	return endedAt === null || now - Date.parse(endedAt) < freshMs;
}

/** Devices of a selected status, or those that failed. */
function RolloutDevices({ head }: { head: RolloutHead }) {
	const [chosen, setChosen] = useState<DeviceStatus>();
	const isThere = (status: DeviceStatus) => head.counts[status] > 0;
	const shown = chosen && isThere(chosen) ? chosen : undefined;
	const statuses = shown ? [shown] : problems.filter(isThere);
	return (
		<>
			<Toggles
				label="Devices by status"
				look="statuses"
				options={deviceStatuses
					.filter(isThere)
					.map((status) => [status, `${head.counts[status].toLocaleString("en")} ${deviceWords[status]}`])}
				value={shown}
				onChange={(status) => setChosen(status === shown ? undefined : status)}
			/>
			{statuses.length > 0 && (
				<Devices
					key={statuses.join()}
					label={shown ? `${capital(deviceWords[shown])} devices` : "Failed devices"}
					head={head}
					statuses={statuses}
				/>
			)}
		</>
	);
}

interface DevicesProps {
	readonly label: string;
	readonly head: RolloutHead;
	readonly statuses: readonly DeviceStatus[];
}

function Devices({ label, head: { id, counts }, statuses }: DevicesProps) {
	const { rollouts } = useApp();
	const [devices, setDevices] = useState<readonly RolloutDevice[]>();
	useEffect(() => {
		let isShown = true;
		rollouts.devices(id, statuses).then(
			(read) => isShown && setDevices(read),
			() => {},
		);
		return () => {
			isShown = false;
		};
	}, [rollouts, id, counts]);
	if (!devices) return <p class="hint">Loading…</p>;
	return (
		<div class="device-list">
			<Rows label={label} items={devices}>
				{({ status, reason, attempts }) => (
					<span class="hint">
						{deviceWords[status]}
						{reason ? `: ${sentence(reason)}` : attempts > 1 && `, ${attempts} attempts`}
					</span>
				)}
			</Rows>
		</div>
	);
}
