/** Firmware of one device: current version, available versions and previous updates. */

import { useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { isUpdating } from "../../../api/client/words.js";
import { useApp, useFirmware, usePast } from "../app/hooks.js";
import { effectOn, firmwareText, fits } from "../model/outdated.js";
import { Button } from "../parts/button.js";
import { Choice } from "../parts/field.js";
import { History } from "../parts/history.js";
import { Panel } from "../parts/panel.js";
import { UpdateState } from "../parts/presence.js";
import { ofUpdate } from "./device-events.js";

export function DeviceUpdate({ entry }: { entry: Entry }) {
	const app = useApp();
	const firmware = useFirmware();
	const { key, session } = entry;
	const past = usePast(key);
	const ended = past?.details.updates.filter(({ endedAt }) => endedAt !== null) ?? [];
	const [chosen, setChosen] = useState<string>();
	const choices = firmware.choices.filter((one) => fits(one, entry));
	const best = choices.find(({ selector }) => selector === firmware.latest?.selector) ?? choices[0];
	const choice = choices.find(({ selector }) => selector === chosen) ?? best;
	const { verb, says } = words[choice ? effectOn(entry, choice) : "unfit"];
	const release = firmware.catalog?.releases.find(({ version }) => version === choice?.selector);
	return (
		<Panel title="Firmware" look="update stack">
			<p>
				Runs <b>{session.firmwareVersion ?? "a version that it has not reported yet"}</b>
			</p>
			<UpdateState metadata={session.metadata} withReason />
			{choice ? (
				<>
					<h3>
						{firmwareText(choice)} {says}
					</h3>
					{release?.notes && <p class="notes">{release.notes}</p>}
					{/* An upload may be another one of the same version. */}
					{(verb !== words.none.verb || choice.selector === "custom") && (
						<div class="actions" key={choice.selector}>
							<Button
								look={verb === words.downgrade.verb ? "" : "primary"}
								isChange
								disabled={!session.connected || isUpdating(session.metadata)}
								onClick={() => app.update(key, choice.selector)}
							>
								{verb} {choice.version ?? "the upload"}
							</Button>
						</div>
					)}
				</>
			) : (
				<p class="hint">
					There is no firmware for it at this gateway. <a href="#/firmware">Upload one</a>
				</p>
			)}
			{choices.length > 1 && (
				<details class="rest">
					<summary>Another version</summary>
					<Choice
						label="Version"
						value={choice?.selector ?? ""}
						onChange={setChosen}
						options={choices.map((one) => [one.selector, firmwareText(one)])}
					/>
				</details>
			)}
			<History label="Previous updates" items={ended.reverse().map(ofUpdate)} />
		</Panel>
	);
}

const words = {
	update: { verb: "Update to", says: "is newer" },
	downgrade: { verb: "Downgrade to", says: "is older" },
	none: { verb: "Install again", says: "is what it runs" },
	unknown: { verb: "Install", says: "can be installed" },
	unfit: { verb: "Install", says: "is for other devices" },
} as const;
