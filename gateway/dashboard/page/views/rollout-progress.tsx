/** How a roll-out goes: overall, and what went wrong where. */

import { deviceAddress, useApp } from "../app/hooks.js";
import { count, type Item, isOver, isStopped, overallPercent, type Rollout } from "../model/rollout.js";
import { plural } from "../model/words.js";
import { Progress } from "../parts/presence.js";

export function RolloutProgress({ rollout }: { rollout: Rollout }) {
	const { rollouts } = useApp();
	const waiting = count(rollout, "waiting");
	const summary = [
		[count(rollout, "updated"), "updated"],
		[count(rollout, "asked", "running"), "under way"],
		[waiting, "to come"],
		[count(rollout, "failed"), "failed"],
		[count(rollout, "rolled_back"), "rolled back"],
		[count(rollout, "refused"), "refused"],
		[count(rollout, "cancelled"), "not begun"],
	] as const;
	const told = summary.filter(([number]) => number > 0).map(([number, words]) => `${number} ${words}`);
	return (
		<div class={`rollout-progress ${isStopped(rollout) ? "bad" : ""}`}>
			<div class="rollout-head">
				<p role="status">
					<b>{titleOf(rollout)}</b> {told.join(", ")}
				</p>
				{waiting > 0 && (
					<button type="button" class="small" onClick={() => rollouts.cancel()}>
						Cancel the {waiting} to come
					</button>
				)}
			</div>
			<Progress percent={overallPercent(rollout)} label="Roll-out" />
			{!isOver(rollout) && <p class="hint">Keep this page open: it begins the next ones.</p>}
			<Problems items={rollout.items} />
		</div>
	);
}

function titleOf(rollout: Rollout): string {
	const target = rollout.selector === "custom" ? "the upload" : rollout.selector;
	const devices = plural(rollout.items.length, "device");
	if (isStopped(rollout)) return `Stopped after failures, ${devices} to ${target}:`;
	if (isOver(rollout)) return `Done, ${devices} to ${target}:`;
	return `Updating ${devices} to ${target}:`;
}

function Problems({ items }: { items: readonly Item[] }) {
	const problems = items.filter(({ status }) => ["failed", "rolled_back", "refused"].includes(status));
	if (problems.length === 0) return null;
	return (
		<ul class="problems" aria-label="What went wrong">
			{problems.map(({ key, status, reason }) => (
				<li key={key}>
					<a href={deviceAddress(key)}>{key}</a> {status.replace("_", " ")}: {reason}
				</li>
			))}
		</ul>
	);
}
