/** Page of a rollout: progress, devices by status, and its control. */

import searchX from "lucide-static/icons/search-x.svg";
import { useState } from "preact/hooks";
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
import { useApp, useDevice, useNow, useResource, useTitle, useTopic } from "../app/hooks.js";
import { type Segment, segmentsOf } from "../model/rollout-segments.js";
import { Button } from "../parts/button.js";
import type { Question } from "../parts/dialog.js";
import { EmptyState } from "../parts/empty-state.js";
import { Toggles } from "../parts/field.js";
import { Item } from "../parts/item.js";
import { PageHead } from "../parts/page-head.js";
import { Panel } from "../parts/panel.js";
import { Problem, useRequest } from "../parts/problem.js";
import { Rows } from "../parts/rows.js";
import { SegmentBar } from "../parts/segment-bar.js";

/** Number of devices up to which all are listed. */
const fewDevices = 20;

const parent = { title: "Firmware", href: "#/firmware" };

interface RolloutProps {
	/** Details are present once they are loaded. */
	readonly rollout: RolloutHead & ReturnType<typeof useDetails>;
}

/** Loads plan and groups of a rollout, again whenever its head changes. */
export function useDetails(head: RolloutHead | undefined): Partial<Rollout> & { readonly loadedAt?: number } {
	const { clock } = useApp();
	const read = async () =>
		head && {
			...(await request("GET /api/rollouts/:id", { params: { id: head.id } })),
			/** Time of the gateway's clock, in ms. */
			loadedAt: clock.now(),
		};
	return useResource(read, undefined, head).value ?? {};
}

export function RolloutPage({ id }: { id: string }) {
	const { rollouts } = useTopic("rollouts");
	const head = rollouts.all.find((known) => known.id === id);
	const details = useDetails(head);
	/** Name of the selected segment. */
	const [chosen, setChosen] = useState<string>();
	const title = head ? `Rollout of ${head.version}` : "Rollout";
	useTitle(title);
	if (!head)
		return (
			<>
				<PageHead title={title} parent={parent} />
				{rollouts.value && (
					<EmptyState icon={searchX} title="Rollout not found">
						It was deleted, or the address is wrong.
					</EmptyState>
				)}
			</>
		);
	const rollout = { ...details, ...head };
	const { counts, createdAt, plan, retrying } = rollout;
	return (
		<div class="rollout">
			<PageHead title={title} parent={parent} />
			<section class={`panel rollout-state ${toneOf(head)}`} aria-label="Progress">
				<p class="state" role="status">
					<b>{stateText(head)}</b>{" "}
					<span class="hint">
						{endedOf(counts).toLocaleString("en")} of {plural(totalOf(counts), "device")}
					</span>
				</p>
				<Actions
					head={head}
					onReview={() => {
						setChosen("failed");
						document.querySelector(".rollout > .chips")?.scrollIntoView({ block: "center" });
					}}
				/>
				<SegmentBar label="Devices" segments={segmentsOf(counts, retrying)} percent={percentOf(counts)} />
			</section>
			<Explanation rollout={rollout} />
			<RolloutDevices rollout={rollout} chosen={chosen} onChosen={setChosen} />
			<Groups rollout={rollout} />
			<p class="hint">
				{plan && `${capital(targetWords(plan))} · `}Started {when(createdAt)} · <code>{id}</code>
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
	const isEnded = isOver(head);
	const isStopped = status === "paused" && pausedBecause === "failures" && failed > 0;
	const queued = plural(counts.queued, "device");
	const effect = standing ? "No more devices join it." : `${queued} will not be updated.`;
	const question: Question = isEnded
		? {
				title: `Delete the record of ${version}, started ${when(head.createdAt)}?`,
				text: "Devices are not affected.",
				loss: { do: "Delete record", keep: "Keep it" },
			}
		: {
				title: `Cancel the rollout of ${version}?`,
				text: `${effect} Running updates continue.`,
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
				onClick={() => (isEnded ? run(remove) : act("cancel"))}
			>
				{isEnded ? "Delete" : "Cancel"}
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
function Explanation({ rollout }: RolloutProps) {
	const { status, pausedBecause, version, plan, group = 0, counts, soakSecondsLeft, loadedAt = 0 } = rollout;
	const now = useNow(1000);
	if (!plan) return null;
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
		typeof soakSecondsLeft === "number" && watched(soakSecondsLeft),
		plan.standing && !isOver(rollout) && sentence(standingWords(plan)),
	].filter((text) => typeof text === "string");
	return sentences.length > 0 ? <p>{sentences.join(" ")}</p> : null;
}

interface RolloutDevicesProps extends RolloutProps {
	/** Name of the selected segment. */
	readonly chosen: string | undefined;
	readonly onChosen: (name: string | undefined) => void;
}

/** Devices of a selected segment; by default all if they are few, else those that failed. */
function RolloutDevices({ rollout, chosen, onChosen }: RolloutDevicesProps) {
	const segments = segmentsOf(rollout.counts, rollout.retrying);
	const textOf = ({ name, tone }: Segment) => (tone === "retrying" ? retryText(rollout) : name);
	const shown = segments.find(({ name }) => name === chosen);
	const isAll = totalOf(rollout.counts) <= fewDevices;
	const listed = shown ?? (isAll ? undefined : segments.find(({ tone }) => tone === "failed"));
	return (
		<>
			<Toggles
				label="Devices by status"
				look="chips"
				options={segments.map((segment) => [
					segment.name,
					<>
						<i class={`dot ${segment.tone}`} style={{ background: `var(--${segment.tone})` }} />
						{segment.count.toLocaleString("en")} {textOf(segment)}
					</>,
				])}
				value={shown?.name}
				onChange={(name) => onChosen(name === chosen ? undefined : name)}
			/>
			{(listed ?? isAll) && <Devices key={listed?.name} rollout={rollout} segment={listed} />}
		</>
	);
}

/** "retrying at 20:34" */
function retryText({ status, retryAt = null }: RolloutProps["rollout"]): string {
	if (status !== "running") return "waiting to retry";
	return retryAt === null ? "retrying" : `retrying at ${clock(Date.parse(retryAt) / 1000)}`;
}

/** @param segment undefined for all devices */
function Devices({ rollout, segment }: RolloutProps & { readonly segment: Segment | undefined }) {
	const { id, counts } = rollout;
	const query = { status: (segment?.statuses ?? deviceStatuses).join(",") };
	const read = () => request("GET /api/rollouts/:id/devices", { params: { id }, query });
	const { devices } = useResource(read, undefined, counts).value ?? {};
	if (!devices) return <p class="hint">Loading…</p>;
	const isRetry = ({ status, reason }: RolloutDevice) => status === "queued" && reason !== null;
	const isListed = (device: RolloutDevice) =>
		segment?.statuses[0] !== "queued" || isRetry(device) === (segment.tone === "retrying");
	const retrying = retryText(rollout);
	return (
		<section class="panel">
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

function Groups({ rollout }: RolloutProps) {
	const { groups = [], plan, group: current } = rollout;
	if (groups.length < 2) return null;
	return (
		<Panel title="Groups">
			<ol class="listed">
				{groups.map(({ size, counts }, index) => {
					const name = `Group ${index + 1}`;
					const group = plan?.groups[index];
					const queued = counts.queued + Math.max(0, size - totalOf(counts));
					return (
						<Item
							key={name}
							title={name}
							facts={[
								`${endedOf(counts).toLocaleString("en")} of ${size.toLocaleString("en")}`,
								index === current && !isOver(rollout) && "current",
								group && groupWords(group),
							]}
						>
							<SegmentBar
								label={name}
								segments={segmentsOf({ ...counts, queued }, counts.queued)}
								percent={percentOf(counts, size)}
							/>
						</Item>
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
