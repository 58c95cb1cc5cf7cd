/** What needs a person, counted: with the first view, where its reasons are loaded later. */

import { useMemo } from "preact/hooks";
import { useNow, useTopic } from "../app/hooks.js";
import { type AwayLimit, concernsOf } from "../model/concerns.js";

/** In this browser's storage. */
export const limitKey = "away limit";
export const refreshMs = 10_000;

/** All concerns, and what counts as long away. */
export function useConcerns() {
	const { fleet, refusals, readiness } = useTopic("list", "refusals");
	const { listVersion } = fleet;
	const refused = refusals.value?.refusals;
	const now = useNow(refreshMs);
	const limit: AwayLimit = localStorage.getItem(limitKey) === "hour" ? "hour" : "day";
	const concerns = useMemo(
		() => concernsOf(fleet.all(), refused ?? [], limit, now),
		[fleet, listVersion, refused, limit, now],
	);
	return { concerns, limit, notReady: readiness.value ?? "" };
}

/** The link in the header, with the number of what was not seen. */
export function AttentionLink({ isCurrent }: { isCurrent: boolean }) {
	const { concerns, notReady } = useConcerns();
	const count = concerns.filter(({ seen }) => !seen).length + Number(notReady !== "");
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
