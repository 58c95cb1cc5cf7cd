/** Releases that devices can be updated to: as rows of the list of issues, and as links on Home. */

import { useMemo } from "preact/hooks";
import { stateText } from "../../../api/client/rollout.js";
import { plural } from "../../../api/client/words.js";
import { rolloutAddress, updateLink } from "../app/addresses.js";
import { useMayChange, useTopic } from "../app/hooks.js";
import { dueUpdates } from "../model/outdated.js";

function useDueUpdates() {
	const app = useTopic("list", "firmware", "rollouts");
	const { listVersion } = app.fleet;
	const { findUpdate } = app.firmware;
	const due = useMemo(() => dueUpdates(app.fleet.all(), findUpdate), [app, listVersion, findUpdate]);
	return { app, due, mayChange: useMayChange() };
}

/** Offers to update the devices that have older firmware, until a rollout does. */
export function UpdateLinks() {
	const { app, due, mayChange } = useDueUpdates();
	if (!mayChange) return null;
	return due.map(
		({ firmware: { selector }, keys }) =>
			!app.rollouts.active(selector) && (
				<a key={selector} class="tag update-all" {...updateLink(app, keys)}>
					Update {plural(keys.length, "device")} to {selector}
				</a>
			),
	);
}

export function DueUpdates() {
	const { app, due, mayChange } = useDueUpdates();
	const { catalog } = app.firmware;
	if (due.length === 0) return null;
	return (
		<ul class="issue-list panel" aria-label="Updates">
			{due.map(({ firmware: { selector }, keys, fitting }) => {
				const notes = catalog?.releases.find(({ version }) => version === selector)?.notes;
				const active = app.rollouts.active(selector);
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
