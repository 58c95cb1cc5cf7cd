/** Page of a rollout: progress, devices by status, and its control. */

import searchX from "lucide-static/icons/search-x.svg";
import { useEffect, useState } from "preact/hooks";
import {
	endedOf,
	groupWords,
	percentOf,
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
import { capital, clock, otaText, plural, sentence, when } from "../../../api/client/words.js";
import { deviceStatuses, deviceWords, failureStatuses, isOver } from "../../../api/statuses.js";
import { request } from "../app/gateway.js";
import { useApp, useDevice, useNow, useTitle, useTopic } from "../app/hooks.js";
import type { LoadedRollout } from "../app/rollouts.js";
import { type Segment, segmentsOf } from "../model/rollout-segments.js";
import { Button } from "../parts/button.js";
import type { Question } from "../parts/dialog.js";
import { EmptyState } from "../parts/empty-state.js";
import { Toggles } from "../parts/field.js";
import { PageHead } from "../parts/page-head.js";
import { Panel } from "../parts/panel.js";
import { Problem } from "../parts/problem.js";
import { Rows } from "../parts/rows.js";
import { SegmentBar } from "../parts/segment-bar.js";
import { useRequest } from "../parts/use-request.js";

/** Number of devices up to which all are listed. */
const fewDevices = 20;

const parent = { title: "Firmware", href: "#/firmware" };

export function RolloutPage({ id }: { id: string }) {
	const { rollouts } = useTopic("rollouts");
	const head = rollouts.all.find((known) => known.id === id);
	const rollout = rollouts.get(id);
	const isKnown = head !== undefined;
	/** Name of the selected segment. */
	const [chosen, setChosen] = useState<string>();
	useEffect(() => {
		if (isKnown) void rollouts.load(id);
	}, [rollouts, id, isKnown]);
	const title = head ? `Rollout of ${head.version}` : "Rollout";
	useTitle(title);
	if (!head)
		return (
			<>
				<PageHead title={title} parent={parent} />
				{rollouts.isLoaded && (
					<EmptyState icon={searchX} title="Rollout not found">
						It was deleted, or the address is wrong.
					</EmptyState>
				)}
			</>
		);
	const { counts, createdAt } = head;
	const total = totalOf(counts);
	const segments = segmentsOf(counts, rollout?.retrying);
	return (
		<div class="rollout">
			<PageHead title={title} parent={parent} />
			<section class={`panel rollout-state ${toneOf(head)}`} aria-label="Progress">
				<p class="state" role="status">
					<b>{stateText(head)}</b>{" "}
					<span class="hint">
						{endedOf(counts).toLocaleString("en")} of {plural(total, "device")}
					</span>
				</p>
				<Actions
					head={head}
					onReview={() => {
						setChosen(segments.find(({ tone }) => tone === "failed")?.name);
						document.querySelector(".rollout > .chips")?.scrollIntoView({ block: "center" });
					}}
				/>
				<SegmentBar label="Devices" segments={segments} percent={percentOf(counts)} />
			</section>
			{rollout && <Explanation head={head} rollout={rollout} />}
			<RolloutDevices
				head={head}
				rollout={rollout}
				segments={segments}
				chosen={chosen}
				onChosen={setChosen}
			/>
			{rollout && rollout.groups.length > 1 && <Groups head={head} rollout={rollout} />}
			<p class="hint">
				{rollout && `${capital(targetWords(rollout.plan))} · `}Started {when(createdAt)} · <code>{id}</code>
			</p>
		</div>
	);
}

function Actions({ head, onReview }: { head: RolloutHead; onReview: () => void }) {
	const { rollouts } = useApp();
	// Errors outlive their button, which may disappear when another person changes the rollout.
	const { run, problem } = useRequest();
	const { status, standing, pausedBecause, counts, version } = head;
	const failed = sum(counts, failureStatuses);
	const isStopped = status === "paused" && pausedBecause === "failures" && failed > 0;
	const question: Question = isOver(head)
		? {
				title: `Delete the record of ${version}, started ${when(head.createdAt)}?`,
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
	const { id } = head;
	const remove = async () => {
		await rollouts.after(request("DELETE /api/rollouts/:id", { params: { id } }));
		location.replace(parent.href);
	};
	const act = (action: RolloutAction) => run(() => rollouts.after(change(head, action)));
	const button = (text: string, action: RolloutAction, look = "") => (
		<Button look={look} isChange onClick={() => act(action)}>
			{text}
		</Button>
	);
	return (
		<div class="actions">
			<Button
				look="quiet"
				isChange
				question={question}
				onClick={() => (isOver(head) ? run(remove) : act("cancel"))}
			>
				{isOver(head) ? "Delete" : "Cancel"}
			</Button>
			{isStopped && button("Resume", "resume")}
			{failed > 0 && status !== "cancelled" && button(`Retry ${failed} failed`, "retry")}
			{isStopped && (
				<Button look="primary" onClick={onReview}>
					Review {failed} failed
				</Button>
			)}
			{(status === "running" || status === "scheduled") && button("Pause", "pause", "primary")}
			{status === "paused" &&
				!isStopped &&
				(pausedBecause === "approval"
					? button("Approve next group", "approve", "primary")
					: button("Resume", "resume", "primary"))}
			<Problem>{problem}</Problem>
		</div>
	);
}

/** @throws Rejection */
async function change({ id, revision }: RolloutHead, action: RolloutAction): Promise<void> {
	const params = { id };
	const next = await request(`POST /api/rollouts/:id/${action}`, { params, revision });
	// A rollout paused by failures would only queue the retried devices.
	if (action === "retry" && next.pausedBecause === "failures")
		await request("POST /api/rollouts/:id/resume", { params, revision: next.revision });
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
				approval: `Group ${group + 1} waits for approval.`,
				operator: "No new updates start. Running updates continue.",
				failures: "Resume ignores these failures. Retry updates the failed devices again.",
			}[pausedBecause ?? "operator"],
		soakSecondsLeft !== null && watched(soakSecondsLeft),
		plan.standing && !isOver(head) && sentence(standingWords(plan)),
	].filter((text) => typeof text === "string");
	return sentences.length > 0 ? <p>{sentences.join(" ")}</p> : null;
}

interface RolloutDevicesProps {
	readonly head: RolloutHead;
	readonly rollout: Rollout | undefined;
	readonly segments: readonly Segment[];
	/** Name of the selected segment. */
	readonly chosen: string | undefined;
	readonly onChosen: (name: string | undefined) => void;
}

/** Devices of a selected segment; by default all if they are few, else those that failed. */
function RolloutDevices({ head, rollout, segments, chosen, onChosen }: RolloutDevicesProps) {
	const textOf = ({ name, tone }: Segment) => (tone === "retrying" ? retryText(head, rollout) : name);
	const shown = segments.find(({ name }) => name === chosen);
	const isAll = totalOf(head.counts) <= fewDevices;
	const listed = shown ?? (isAll ? undefined : segments.find(({ tone }) => tone === "failed"));
	return (
		<>
			<Toggles
				label="Devices by status"
				look="chips"
				options={segments.map((segment) => [
					segment.name,
					<>
						<i class={`dot ${segment.tone}`} />
						{segment.count.toLocaleString("en")} {textOf(segment)}
					</>,
				])}
				value={shown?.name}
				onChange={(name) => onChosen(name === chosen ? undefined : name)}
			/>
			{(listed ?? isAll) && <Devices key={listed?.name} head={head} rollout={rollout} segment={listed} />}
		</>
	);
}

/** "retrying at 20:34" */
function retryText({ status }: RolloutHead, rollout: Rollout | undefined): string {
	if (status !== "running") return "waiting to retry";
	const { retryAt = null } = rollout ?? {};
	return retryAt === null ? "retrying" : `retrying at ${clock(Date.parse(retryAt) / 1000)}`;
}

interface DevicesProps {
	readonly head: RolloutHead;
	readonly rollout: Rollout | undefined;
	/** Undefined for all devices. */
	readonly segment: Segment | undefined;
}

function Devices({ head, rollout, segment }: DevicesProps) {
	const { id, counts } = head;
	const [devices, setDevices] = useState<readonly RolloutDevice[]>();
	useEffect(() => {
		let isShown = true;
		const query = { status: (segment?.statuses ?? deviceStatuses).join(",") };
		request("GET /api/rollouts/:id/devices", { params: { id }, query }).then(
			(read) => isShown && setDevices(read.devices),
			() => {},
		);
		return () => {
			isShown = false;
		};
	}, [id, counts]);
	if (!devices) return <p class="hint">Loading…</p>;
	const isRetry = ({ status, reason }: RolloutDevice) => status === "queued" && reason !== null;
	const isListed = (device: RolloutDevice) =>
		segment?.statuses[0] !== "queued" || isRetry(device) === (segment.tone === "retrying");
	const retrying = retryText(head, rollout);
	return (
		<section class="panel device-list">
			<Rows label={segment ? `${capital(segment.name)} devices` : "Devices"} items={devices.filter(isListed)}>
				{(device) => <Step device={device} retrying={isRetry(device) ? retrying : undefined} />}
			</Rows>
		</section>
	);
}

interface StepProps {
	readonly device: RolloutDevice;
	/** State of a device that waits for another attempt. */
	readonly retrying: string | undefined;
}

function Step({ device: { deviceId, status, reason, attempts }, retrying }: StepProps) {
	const { metadata } = useDevice(deviceId)?.session ?? {};
	const isLoading = status === "downloading" && metadata?.otaStatus === status;
	return (
		<span class="hint">
			{capital(retrying ?? (isLoading ? otaText(metadata) : deviceWords[status]))}
			{reason ? `: ${sentence(reason)}` : attempts > 1 && `, ${attempts} attempts`}
		</span>
	);
}

function Groups({ head, rollout }: { head: RolloutHead; rollout: Rollout }) {
	const { groups, plan, group: current } = rollout;
	return (
		<Panel title="Groups">
			<ol class="groups">
				{groups.map(({ size, counts }, index) => {
					const name = `Group ${index + 1}`;
					const group = plan.groups[index];
					const queued = counts.queued + Math.max(0, size - totalOf(counts));
					return (
						<li key={name} aria-current={index === current && !isOver(head) ? "step" : undefined}>
							<span>
								<b>{name}</b> <span class="hint">{group && groupWords(group)}</span>
							</span>
							<span>
								{endedOf(counts).toLocaleString("en")} of {size.toLocaleString("en")}
							</span>
							<SegmentBar
								label={name}
								segments={segmentsOf({ ...counts, queued }, counts.queued)}
								percent={percentOf(counts, size)}
							/>
						</li>
					);
				})}
			</ol>
		</Panel>
	);
}

/** Class for the color of a rollout. */
export function toneOf({ status, pausedBecause, counts }: RolloutHead): string {
	if (status === "paused") return pausedBecause === "failures" ? "bad" : "warn";
	if (status === "cancelled") return "off";
	return status === "finished" && sum(counts, failureStatuses) > 0 ? "bad" : "";
}
