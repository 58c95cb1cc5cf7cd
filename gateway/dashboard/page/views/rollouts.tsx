/** The gateway's roll-outs: active ones in full, ended ones by their outcome. */

import { useState } from "preact/hooks";
import { type RolloutHead, stateText, totalOf } from "../../../api/client/rollout.js";
import { plural, when } from "../../../api/client/words.js";
import { isOver } from "../../../api/statuses.js";
import { useTopic } from "../app/hooks.js";
import { Panel } from "../parts/panel.js";
import { RolloutCard } from "./rollout-card.js";

export function ActiveRollouts() {
	const { rollouts } = useTopic("rollouts");
	const active = rollouts.all.filter((head) => !isOver(head));
	if (active.length === 0) return null;
	return (
		<Panel title={active.length === 1 ? "Roll-out" : `${active.length} roll-outs`} label="Roll-outs">
			{active.map((head) => (
				<RolloutCard key={head.id} head={head} />
			))}
		</Panel>
	);
}

export function PastRollouts() {
	const { rollouts, clock } = useTopic("rollouts");
	const past = rollouts.all.filter(isOver);
	if (past.length === 0) return null;
	return (
		<Panel title="Past roll-outs" look="late">
			{past.map((head, index) => (
				<PastRollout key={head.id} head={head} isFresh={index === 0 && isFresh(head, clock.now())} />
			))}
		</Panel>
	);
}

function PastRollout({ head, isFresh }: { head: RolloutHead; isFresh: boolean }) {
	const [isOpen, setIsOpen] = useState(isFresh);
	return (
		<details class="past" open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
			<summary>
				<b>{head.version}</b> {plural(totalOf(head.counts), "device")}: {stateText(head)}{" "}
				<time dateTime={head.createdAt}>{when(head.endedAt ?? head.createdAt)}</time>
			</summary>
			{isOpen && <RolloutCard head={head} />}
		</details>
	);
}

const freshMs = 600_000;

/** Whether a roll-out ended less than ten minutes ago; `endedAt` is null until its end has been read. */
function isFresh({ endedAt }: RolloutHead, now: number): boolean {
	return endedAt === null || now - Date.parse(endedAt) < freshMs;
}
