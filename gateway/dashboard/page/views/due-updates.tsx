/** Releases that devices can be updated to, as rows of the list of issues. */

import { useMemo } from "preact/hooks";
import { stateText } from "../../../api/client/rollout.js";
import { plural } from "../../../api/client/words.js";
import { isOver } from "../../../api/statuses.js";
import { rolloutAddress, updateAddress, useMayChange, useTopic } from "../app/hooks.js";
import { dueUpdates } from "../model/outdated.js";

export function DueUpdates() {
	const { fleet, firmware, rollouts, selection } = useTopic("list", "firmware", "rollouts");
	const { findUpdate, catalog } = firmware;
	const { listVersion } = fleet;
	const mayChange = useMayChange();
	const due = useMemo(() => dueUpdates(fleet.all(), findUpdate), [fleet, listVersion, findUpdate]);
	if (due.length === 0) return null;
	return (
		<ul class="issue-list panel" aria-label="Updates">
			{due.map(({ firmware: { selector }, keys, fitting }) => {
				const notes = catalog?.releases.find(({ version }) => version === selector)?.notes;
				// A standing rollout may target other devices, and never ends.
				const active = rollouts.all.find(
					(head) => head.version === selector && !head.standing && !isOver(head),
				);
				const href = updateAddress(new Set(keys));
				return (
					<li key={selector} class="issue">
						<b>Update to {selector}</b>
						<p class="hint">
							<a href="#/?state=outdated">
								{keys.length.toLocaleString("en")} of {plural(fitting, "device")}
							</a>
							{notes && ` · ${notes}`}
						</p>
						<span>{active && stateText(active)}</span>
						{active ? (
							<a class="button quiet" href={rolloutAddress(active.id)}>
								Show rollout
							</a>
						) : (
							mayChange && (
								<a
									class="button quiet"
									href={href}
									onClick={() => href.endsWith("selected") && selection.set(keys)}
								>
									Update…
								</a>
							)
						)}
					</li>
				);
			})}
		</ul>
	);
}
