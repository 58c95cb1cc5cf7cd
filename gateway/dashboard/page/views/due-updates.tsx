/** Releases that devices can be updated to, with their notes and a button that updates all of these devices. */

import { useMemo } from "preact/hooks";
import { stateText } from "../../../api/client/rollout.js";
import { defaultOptions, makePlan } from "../../../api/client/rollout-plan.js";
import { plural } from "../../../api/client/words.js";
import { isOver } from "../../../api/statuses.js";
import { rolloutAddress, useMayChange, useTopic } from "../app/hooks.js";
import { type DueUpdate, dueUpdates } from "../model/outdated.js";
import { Panel } from "../parts/panel.js";
import { StartRollout } from "./start-rollout.js";

export function DueUpdates() {
	const { fleet, firmware } = useTopic("list", "firmware");
	const { findUpdate } = firmware;
	const { listVersion } = fleet;
	const due = useMemo(() => dueUpdates(fleet.all(), findUpdate), [fleet, listVersion, findUpdate]);
	return (
		<>
			{due.map((one) => (
				<OneRelease key={one.firmware.selector} due={one} />
			))}
		</>
	);
}

function OneRelease({ due: { firmware, keys, fitting } }: { due: DueUpdate }) {
	const app = useTopic("rollouts");
	const mayChange = useMayChange();
	const { selector } = firmware;
	const notes = app.firmware.catalog?.releases.find(({ version }) => version === selector)?.notes;
	// A standing rollout may target other devices, and never ends.
	const active = app.rollouts.all.find(
		(head) => head.version === selector && !head.standing && !isOver(head),
	);
	const plan = makePlan({ version: selector }, { devices: keys }, defaultOptions);
	return (
		<Panel
			title={`${keys.length.toLocaleString("en")} of ${plural(fitting, "device")} can be updated to ${selector}`}
			label={`Update to ${selector}`}
			hint={<a href="#/?state=outdated">Show devices</a>}
		>
			{notes && <p class="notes">{notes}</p>}
			{active ? (
				<p>
					<a href={rolloutAddress(active.id)}>Rollout</a>: {stateText(active)}
				</p>
			) : (
				mayChange && <StartRollout firmware={firmware} plan={plan} />
			)}
		</Panel>
	);
}
