/** What needs a person, counted: with the first view, where its causes are loaded later. */

import { useMemo } from "preact/hooks";
import { useNow, useTopic } from "../app/hooks.js";
import { causesOf } from "../model/concerns.js";

export const refreshMs = 10_000;
const noCrashes = { causes: [], versions: [] };

/** All causes, seen or not, and how many things a person should look at now. */
export function useCauses() {
	const { fleet, refusals, crashes, readiness } = useTopic("list", "refusals");
	const { listVersion } = fleet;
	const refused = refusals.value?.refusals;
	const crashList = crashes.value ?? noCrashes;
	const now = useNow(refreshMs);
	const causes = useMemo(
		() => causesOf(fleet.all(), refused ?? [], crashList, now),
		[fleet, listVersion, refused, crashList, now],
	);
	const ofGateway = readiness.value ?? [];
	const count = causes.filter(({ seen, isHint }) => !seen && !isHint).length + ofGateway.length;
	return { causes, ofGateway, count };
}

/** The link in the header, with the number of what was not seen. */
export function AttentionLink({ isCurrent }: { isCurrent: boolean }) {
	const { count } = useCauses();
	return (
		<a href="#/attention" aria-current={isCurrent ? "page" : undefined}>
			Attention
			{count > 0 && (
				<>
					{" "}
					<b class="number">{count.toLocaleString("en")}</b>
				</>
			)}
		</a>
	);
}
