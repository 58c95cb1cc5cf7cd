/** Link to the issues, with their number once it is loaded. */

import alert from "lucide-static/icons/circle-alert.svg";
import { Icon } from "../parts/icon.js";
import { whenLive } from "./on-demand.js";

const IssueCount = whenLive(async () => (await import("./later.js")).IssueCount);

export function IssuesLink({ isCurrent }: { isCurrent: boolean }) {
	return (
		<a href="#/issues" aria-current={isCurrent ? "page" : undefined}>
			<Icon of={alert} />
			Issues
			<IssueCount />
		</a>
	);
}
