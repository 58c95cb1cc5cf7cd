/** Releases that devices can be updated to, above the list of issues. */

import { useMemo } from "preact/hooks";
import { stateText } from "../../../api/client/rollout.js";
import { plural } from "../../../api/client/words.js";
import { rolloutAddress, viewAddress } from "../app/addresses.js";
import { useMayChange, useTopic } from "../app/hooks.js";
import { dueUpdates } from "../model/outdated.js";
import { Item } from "../parts/item.js";

/** Offers to update the devices that have older firmware, until a rollout does. */
export function DueUpdates() {
	const app = useTopic("list", "firmware", "rollouts");
	const mayChange = useMayChange();
	const { listVersion } = app.fleet;
	const { catalog, findUpdate } = app.firmware;
	const due = useMemo(() => dueUpdates(app.fleet.all(), findUpdate), [app, listVersion, findUpdate]);
	if (due.length === 0) return null;
	return (
		<ul class="listed panel" aria-label="Updates">
			{due.map(({ firmware: { selector }, keys, fitting }) => {
				const notes = catalog?.releases.find(({ version }) => version === selector)?.notes;
				const active = app.rollouts.active(selector);
				return (
					<Item
						key={selector}
						title={
							<a class="cover" href="#/?state=outdated">
								Update to {selector}
							</a>
						}
						facts={[
							`${keys.length.toLocaleString("en")} of ${plural(fitting, "device")}`,
							notes,
							active && stateText(active),
						]}
						actions={
							active ? (
								<a class="button quiet" href={rolloutAddress(active.id)}>
									Show rollout
								</a>
							) : (
								mayChange && (
									<a class="button quiet" href={viewAddress("firmware", { devices: keys })}>
										Update…
									</a>
								)
							)
						}
					/>
				);
			})}
		</ul>
	);
}
