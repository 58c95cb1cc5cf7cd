/** Number of issues, in the first bundle; the issues view is loaded later. */

import alert from "lucide-static/icons/circle-alert.svg";
import { useMemo } from "preact/hooks";
import { useNow, useTopic } from "../app/hooks.js";
import { groupIssues } from "../model/issues.js";
import { Icon } from "../parts/icon.js";

export const refreshMs = 10_000;
const noCrashes = { causes: [], versions: [] };

/** Issues by cause, problems of the gateway, and the number of those that are not dismissed. */
export function useIssues() {
	const { fleet, rejections, crashes, readiness } = useTopic("list", "issues");
	const { listVersion } = fleet;
	const refused = rejections.value?.refusals;
	const crashList = crashes.value ?? noCrashes;
	const now = useNow(refreshMs);
	const groups = useMemo(
		() => groupIssues(fleet.all(), refused ?? [], crashList, now),
		[fleet, listVersion, refused, crashList, now],
	);
	const gatewayProblems = readiness.value ?? [];
	const count = groups.filter(({ seen, isHint }) => !seen && !isHint).length + gatewayProblems.length;
	return { groups, gatewayProblems, count };
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
