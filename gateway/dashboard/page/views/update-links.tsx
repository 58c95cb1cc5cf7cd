/** Offers on Home to update the devices that have older firmware, until a rollout does. */

import { useMemo } from "preact/hooks";
import { plural } from "../../../api/client/words.js";
import { updateLink, useMayChange, useTopic } from "../app/hooks.js";
import { dueUpdates } from "../model/outdated.js";

export function UpdateLinks() {
	const app = useTopic("list", "firmware", "rollouts");
	const { fleet, firmware, rollouts } = app;
	const { findUpdate } = firmware;
	const mayChange = useMayChange();
	const due = useMemo(() => dueUpdates(fleet.all(), findUpdate), [fleet, fleet.listVersion, findUpdate]);
	if (!mayChange) return null;
	return due.map(
		({ firmware: { selector }, keys }) =>
			!rollouts.active(selector) && (
				<a key={selector} class="tag update-all" {...updateLink(app, keys)}>
					Update {plural(keys.length, "device")} to {selector}
				</a>
			),
	);
}
