/** Rollouts of the gateway as links to their pages: active ones with progress, ended ones collapsed. */

import {
	endedOf,
	percentOf,
	type RolloutHead,
	stateText,
	targetWords,
	totalOf,
} from "../../../api/client/rollout.js";
import { plural, when } from "../../../api/client/words.js";
import { isOver } from "../../../api/statuses.js";
import { rolloutAddress } from "../app/addresses.js";
import { useTopic } from "../app/hooks.js";
import { segmentsOf } from "../model/rollout-segments.js";
import { Item } from "../parts/item.js";
import { Panel } from "../parts/panel.js";
import { SegmentBar } from "../parts/segment-bar.js";
import { toneOf, useDetails } from "./rollout.js";

export function Rollouts() {
	const { rollouts } = useTopic("rollouts");
	const active = rollouts.all.filter((head) => !isOver(head));
	const ended = rollouts.all.filter(isOver);
	const rows = (heads: readonly RolloutHead[]) => (
		<ul class="listed">
			{heads.map((head) => (
				<Row key={head.id} head={head} />
			))}
		</ul>
	);
	if (rollouts.all.length === 0) return null;
	return (
		<Panel title="Rollouts">
			{rows(active)}
			{ended.length > 0 && (
				<details open={active.length === 0}>
					<summary>Earlier rollouts ({ended.length})</summary>
					{rows(ended)}
				</details>
			)}
		</Panel>
	);
}

function Row({ head }: { head: RolloutHead }) {
	const { id, version, counts, createdAt, endedAt } = head;
	const isActive = !isOver(head);
	const { plan, retrying } = useDetails(isActive ? head : undefined);
	return (
		<Item
			title={
				<a class="cover" href={rolloutAddress(id)}>
					{version} {plan && targetWords(plan)}
				</a>
			}
			facts={[
				`${endedOf(counts).toLocaleString("en")} of ${plural(totalOf(counts), "device")}`,
				when(endedAt ?? createdAt),
			]}
			actions={<span class={`state ${toneOf(head)}`}>{stateText(head)}</span>}
		>
			{isActive && (
				<SegmentBar label="Progress" segments={segmentsOf(counts, retrying)} percent={percentOf(counts)} />
			)}
		</Item>
	);
}
