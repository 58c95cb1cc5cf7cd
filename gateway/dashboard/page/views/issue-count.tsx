/** Issues and their number. */

import { useMemo } from "preact/hooks";
import { useNow, useTopic } from "../app/hooks.js";
import { groupIssues } from "../model/issue-rows.js";

export const refreshMs = 10_000;

/** Issues by cause, and the number of those that are neither dismissed nor hints. */
export function useIssues() {
	const app = useTopic("list", "issues", "rollouts");
	const { fleet } = app;
	const rejections = app.rejections.value?.rejections;
	const causes = app.crashes.value?.causes;
	const rollouts = app.rollouts.all;
	const problems = app.readiness.value;
	const now = useNow(refreshMs);
	const rows = useMemo(
		() => groupIssues({ entries: fleet.all(), rejections, causes, rollouts, problems }, now),
		[fleet, fleet.listVersion, rejections, causes, rollouts, problems, now],
	);
	const isLoading = [app.rejections, app.crashes, app.readiness].some(
		({ value, problem }) => value === undefined && problem === "",
	);
	return { rows, isLoading, count: rows.filter(({ seen, isHint }) => !seen && !isHint).length };
}

export function IssueCount() {
	const { count } = useIssues();
	if (count === 0) return null;
	return (
		<>
			{" "}
			<b class="number">{count.toLocaleString("en")}</b>
		</>
	);
}
