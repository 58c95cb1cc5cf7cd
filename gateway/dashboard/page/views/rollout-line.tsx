/** Progress of the running rollouts as a thin line in every view. */

import { endedOf, isSettled, totalOf } from "../../../api/client/rollout.js";
import { useTopic } from "../app/hooks.js";

export function RolloutLine() {
	const { rollouts } = useTopic("rollouts");
	const running = rollouts.all.filter((head) => head.status === "running" && !isSettled(head));
	const sumOf = (count: typeof totalOf) => running.reduce((sum, { counts }) => sum + count(counts), 0);
	if (running.length === 0) return null;
	return <progress class="rollout-line" aria-label="Rollout" max={sumOf(totalOf)} value={sumOf(endedOf)} />;
}
