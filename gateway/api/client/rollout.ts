/** Rollouts as the gateway sends them, and their descriptions for people: for the page and the terminal. */

import type { FrameOf } from "../frames.js";
import type {
	Counts,
	Group,
	Plan,
	Preview,
	RolloutDevice,
	RolloutHead,
	ShownRollout,
	Window,
} from "../rollout.js";
import {
	type DeviceStatus,
	deviceStatuses,
	deviceWords,
	failureStatuses,
	slotStatuses,
} from "../statuses.js";
import { mostAtOnce, oneByOne } from "./rollout-plan.js";
import { plural, timeLeft, when } from "./words.js";

export type { Counts, Group, Plan, Preview, RolloutDevice, RolloutHead, ShownRollout as Rollout, Window };

/** To a monitor that connects to /monitor?rollouts. */
export type RolloutUpdate = FrameOf<"rollout_update">;

export type RolloutAction = "pause" | "resume" | "approve" | "cancel" | "retry";

/** A person should read why. */
export const problems = [...failureStatuses, "rejected"] as const;
export function sum(counts: Counts, statuses: readonly DeviceStatus[]): number {
	return statuses.reduce((total, status) => total + counts[status], 0);
}

export function totalOf(counts: Counts): number {
	return Object.values(counts).reduce((total, count) => total + count, 0);
}

/** Devices whose update has ended, in any way. */
export function endedOf(counts: Counts): number {
	return totalOf(counts) - sum(counts, ["queued", ...slotStatuses]);
}

/** 0 to 100: devices that have ended, however they did. @param total of devices; a group's counts are without those to come */
export function percentOf(counts: Counts, total = totalOf(counts)): number {
	return total === 0 ? 0 : Math.min(100, Math.floor((100 * endedOf(counts)) / total));
}

/** "2 failed, 20 downloading, 139 waiting"; without those of which there is none */
export function countWords(counts: Counts): string {
	const present = deviceStatuses.filter((status) => counts[status] > 0);
	return present.map((status) => `${counts[status].toLocaleString("en")} ${deviceWords[status]}`).join(", ");
}

/** "watched for another 2 min 40 s" @param count of devices, which may have less time left */
export function watchWords(secondsLeft: number, count = 1): string {
	if (secondsLeft === 0) return `watched until ${count === 1 ? "it is" : "they are"} connected`;
	return `watched for another ${timeLeft(secondsLeft)}${count === 1 ? "" : " at most"}`;
}

/** Whether all devices that a standing rollout has now have ended. */
export function isSettled({ standing, status, counts }: RolloutHead): boolean {
	return standing && status === "running" && endedOf(counts) === totalOf(counts);
}

/** "Running", "Paused: too many failures", "Finished, 3 failed" */
export function stateText(head: RolloutHead): string {
	const { status, pausedBecause, counts } = head;
	switch (status) {
		case "scheduled":
			return "Scheduled";
		case "running":
			return isSettled(head) ? "Waiting for new devices" : "Running";
		case "paused":
			if (pausedBecause === "failures") return "Paused: too many failures";
			return pausedBecause === "approval" ? "Waiting for approval" : "Paused";
		case "finished": {
			const failed = sum(counts, failureStatuses);
			return [
				"Finished",
				...(failed > 0 ? [`${failed.toLocaleString("en")} failed`] : []),
				...(counts.rejected > 0 ? [`${counts.rejected.toLocaleString("en")} rejected`] : []),
			].join(", ");
		}
		case "cancelled":
			return "Canceled";
	}
}

/** How many devices a plan would update, now or when they are back. */
export function updatableCount({ total, alreadyInstalled, downgrades, doNotFit, plan }: Preview): number {
	return total - alreadyInstalled - doNotFit - (plan.allowDowngrade ? 0 : downgrades);
}

/**
 * "243 devices in Mainz, 12 offline, 3 already up to date, 2 would be downgraded"
 *
 * @param place such as " in Mainz", or empty
 */
export function previewWords({ plan, ...preview }: Preview, place = ""): string {
	const { total, away, alreadyInstalled, downgrades, doNotFit, busy } = preview;
	const parts = [
		[away, "offline"],
		[alreadyInstalled, "already up to date"],
		[downgrades, plan.allowDowngrade ? "would be downgraded" : "with a newer version"],
		[doNotFit, "without an image"],
		[busy, "in another rollout"],
	] as const;
	const present = parts.filter(([count]) => count > 0);
	return [
		plural(total, "device") + place,
		...present.map(([count, words]) => `${count.toLocaleString("en")} ${words}`),
	].join(", ");
}

/**
 * "first 5 devices, 5 at a time; then the rest, 20 at a time; each is watched for 3 min before it counts as updated",
 * "one after another; pauses at the first failure"
 */
export function planWords(plan: Plan, now: number): string {
	const { groups, startsAt, window } = plan;
	const steps = groups.map((group, index) => {
		const isOneByOne = groups.length === 1 && group.concurrency === 1 && group.errorThreshold.count === 1;
		const place = groups.length === 1 ? "" : index === 0 ? "first " : "then ";
		const words = isOneByOne ? "one after another; pauses at the first failure" : place + groupWords(group);
		return `${words}${group.approval ? ", once approved" : ""}`;
	});
	// The default is the gateway's present, which this clock may be behind.
	if (Date.parse(startsAt) > now + minuteMs) steps.push(`from ${when(startsAt)}`);
	if (window) steps.push(windowWords(window));
	const soakSeconds = Math.max(...groups.map((group) => group.soakSeconds));
	if (soakSeconds > oneByOne.soakSeconds)
		steps.push(`each is watched for ${timeLeft(soakSeconds)} before it counts as updated`);
	if (plan.standing) steps.push(standingWords(plan));
	return steps.join("; ");
}

/** "includes new devices and new releases of beta" */
export function standingWords({ firmware: { channel } }: Plan): string {
	return `includes new devices${channel === undefined ? "" : ` and new releases of ${channel}`}`;
}

/** "to 3 devices", "of beta to all DEV-1 with shop and not test" */
export function targetWords({ firmware, target }: Plan): string {
	const of = firmware.channel === undefined ? "" : `of ${firmware.channel} `;
	if ("devices" in target) return `${of}to ${plural(target.devices.length, "device")}`;
	if ("all" in target) return `${of}to all devices`;
	const { model, tags } = target;
	return `${of}to all ${[model, tags === undefined ? undefined : `with ${tags}`].filter(Boolean).join(" ")}`;
}

const minuteMs = 60_000;

/** "the rest, 20 at a time, pauses at 10% failures" */
export function groupWords({ size, concurrency, errorThreshold: { count, percent } }: Group): string {
	const who =
		size === "rest"
			? "the rest"
			: typeof size === "number"
				? plural(size, "device")
				: `${size} of the devices`;
	const limits = [
		...(count === undefined ? [] : [`after ${plural(count, "failure")}`]),
		...(percent === undefined ? [] : [`at ${percent}% failures`]),
	];
	const pace = concurrency >= mostAtOnce ? "all at once" : `${concurrency.toLocaleString("en")} at a time`;
	return `${who}, ${pace}, pauses ${limits.join(" or ")}`;
}

function windowWords({ days, from, to, timeZone }: Window): string {
	const which = days.length === 7 ? "daily" : days.join(", ");
	return `${which} from ${from} to ${to} (${timeZone})`;
}
