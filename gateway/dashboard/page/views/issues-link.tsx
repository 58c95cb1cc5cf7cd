/** Link to the issues, with their number once it is loaded. */

import alert from "lucide-static/icons/circle-alert.svg";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useIsLive } from "../app/hooks.js";
import { Icon } from "../parts/icon.js";

export function IssuesLink({ isCurrent }: { isCurrent: boolean }) {
	const isLive = useIsLive();
	const [Count, setCount] = useState<ComponentType>();
	useEffect(() => {
		if (!isLive) return;
		import("./later.js").then(
			({ IssueCount }) => setCount(() => IssueCount),
			// Retried after the next connection.
			() => {},
		);
	}, [isLive]);
	return (
		<a href="#/attention" aria-current={isCurrent ? "page" : undefined}>
			<Icon of={alert} />
			Issues
			{Count && <Count />}
		</a>
	);
}
