/** Progress of the running rollouts as a thin line in every view. */

import { endedOf, isSettled, totalOf } from "../../../api/client/rollout.js";
import { useTopic } from "../app/hooks.js";
import { SegmentBar } from "../parts/segment-bar.js";

export function RolloutLine() {
	const { rollouts } = useTopic("rollouts");
	const running = rollouts.all.filter((head) => head.status === "running" && !isSettled(head));
	const sumOf = (count: typeof totalOf) => running.reduce((sum, { counts }) => sum + count(counts), 0);
	if (running.length === 0) return null;
	const [total, ended] = [sumOf(totalOf), sumOf(endedOf)];
	const segments = [
		{ name: "ended", tone: "done", count: ended },
		{ name: "running", tone: "waiting", count: total - ended },
	] as const;
	return (
		<div class="rollout-line">
			<SegmentBar label="Rollout" segments={segments} percent={(100 * ended) / total} />
		</div>
	);
}
