/** The firmware of one device: what it could run, its update, and how the previous ones ended. */

import { useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { isUpdating } from "../../../api/client/words.js";
import { useApp, useFirmware, usePast } from "../app/hooks.js";
import { effectOn, firmwareText, fits } from "../model/outdated.js";
import { Button } from "../parts/button.js";
import { Choice } from "../parts/field.js";
import { Panel } from "../parts/panel.js";
import { UpdateState } from "../parts/presence.js";
import { UpdateHistory } from "./update-history.js";

export function DeviceUpdate({ entry }: { entry: Entry }) {
	const app = useApp();
	const { firmware } = app;
	const { key, session } = entry;
	const past = usePast(key);
	const [chosen, setChosen] = useState<string>();
	useFirmware();
	const choices = firmware.choices.filter((one) => fits(one, entry));
	const best = choices.find(({ selector }) => selector === firmware.latest?.selector) ?? choices[0];
	const choice = choices.find(({ selector }) => selector === chosen) ?? best;
	const update = async () => {
		if (choice) await app.update(key, choice.selector);
	};
	const effect = choice && effectOn(entry, choice);
	// An upload may be another one of the same version.
	const isOffered = effect !== "none" || choice?.selector === "custom";
	return (
		<Panel title="Firmware" look="update">
			<UpdateState metadata={session.metadata} withReason />
			{choice ? (
				<div class="actions of-fields">
					<Choice
						label="Update to"
						value={choice.selector}
						onChange={setChosen}
						options={choices.map((one) => [one.selector, firmwareText(one)])}
					/>
					<Button
						look={effect === "downgrade" ? "" : "primary"}
						isChange
						disabled={!session.connected || isUpdating(session.metadata) || !isOffered}
						onClick={update}
					>
						{isOffered ? words[effect ?? "unknown"] : "Runs it already"}
					</Button>
				</div>
			) : (
				<p class="hint">
					There is no firmware for it at this gateway. <a href="#/firmware">Upload one</a>
				</p>
			)}
			<UpdateHistory updates={[...(past?.details.updates ?? [])].reverse()} />
		</Panel>
	);
}

const words = {
	update: "Update",
	unknown: "Update",
	unfit: "Update",
	downgrade: "Downgrade",
	none: "Install again",
} as const;
