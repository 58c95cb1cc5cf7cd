/** Number of issues, in the first bundle; the issues view is loaded later. */

import alert from "lucide-static/icons/circle-alert.svg";
import { useMemo } from "preact/hooks";
import { useNow, useTopic } from "../app/hooks.js";
import { groupIssues } from "../model/issues.js";
import { Icon } from "../parts/icon.js";

export const refreshMs = 10_000;

/** Issues by cause, and the number of those that are neither dismissed nor hints. */
export function useIssues() {
	const app = useTopic("list", "issues", "rollouts");
	const { fleet } = app;
	const rejections = app.rejections.value?.refusals;
	const causes = app.crashes.value?.causes;
	const rollouts = app.rollouts.all;
	const problems = app.readiness.value;
	const now = useNow(refreshMs);
	const rows = useMemo(
		() => groupIssues({ entries: fleet.all(), rejections, causes, rollouts, problems }, now),
		[fleet, fleet.listVersion, rejections, causes, rollouts, problems, now],
	);
	return { rows, count: rows.filter(({ seen, isHint }) => !seen && !isHint).length };
}

/** Link in the header with the number of issues. */
export function IssuesLink({ isCurrent }: { isCurrent: boolean }) {
	const { count } = useIssues();
	return (
		<a href="#/attention" aria-current={isCurrent ? "page" : undefined}>
			<Icon of={alert} />
			Issues
			{count > 0 && (
				<>
					{" "}
					<b class="number">{count.toLocaleString("en")}</b>
				</>
			)}
		</a>
	);
}
