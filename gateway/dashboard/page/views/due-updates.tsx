/** Releases that devices can be updated to, as rows of the list of issues. */

import { useMemo } from "preact/hooks";
import { stateText } from "../../../api/client/rollout.js";
import { plural } from "../../../api/client/words.js";
import { rolloutAddress, updateLink, useMayChange, useTopic } from "../app/hooks.js";
import { dueUpdates } from "../model/outdated.js";

export function DueUpdates() {
	const app = useTopic("list", "firmware", "rollouts");
	const { fleet, firmware, rollouts } = app;
	const { findUpdate, catalog } = firmware;
	const { listVersion } = fleet;
	const mayChange = useMayChange();
	const due = useMemo(() => dueUpdates(fleet.all(), findUpdate), [fleet, listVersion, findUpdate]);
	if (due.length === 0) return null;
	return (
		<ul class="issue-list panel" aria-label="Updates">
			{due.map(({ firmware: { selector }, keys, fitting }) => {
				const notes = catalog?.releases.find(({ version }) => version === selector)?.notes;
				const active = rollouts.active(selector);
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
								<a class="button quiet" {...updateLink(app, keys)}>
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
