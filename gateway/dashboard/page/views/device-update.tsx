/** Firmware of one device: current version, available versions and previous updates. */

import { useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { isUpdating } from "../../../api/client/words.js";
import { useApp, useDenial, useFirmware, useHistory } from "../app/hooks.js";
import { effectOn, firmwareText, fits } from "../model/outdated.js";
import { Button } from "../parts/button.js";
import { Action, Outcome } from "../parts/controls.js";
import { Choice } from "../parts/field.js";
import { History } from "../parts/history.js";
import { Panel } from "../parts/panel.js";
import { UpdateState } from "../parts/presence.js";
import { updateEvent } from "./device-events.js";

export function DeviceUpdate({ entry }: { entry: Entry }) {
	const app = useApp();
	const firmware = useFirmware();
	const denial = useDenial();
	const { key, session } = entry;
	const past = useHistory(key);
	const ended = past?.details.updates.filter(({ endedAt }) => endedAt !== null) ?? [];
	const [chosen, setChosen] = useState<string>();
	const choices = firmware.choices.filter((offered) => fits(offered, entry));
	const best = choices.find(({ selector }) => selector === firmware.latest?.selector) ?? choices[0];
	const choice = choices.find(({ selector }) => selector === chosen) ?? best;
	const { verb, text } = words[choice ? effectOn(entry, choice) : "unfit"];
	const release = firmware.catalog?.releases.find(({ version }) => version === choice?.selector);
	return (
		<Panel title="Firmware" look="update stack">
			<p>
				Runs <b>{session.firmwareVersion ?? "an unknown version"}</b>
			</p>
			<UpdateState metadata={session.metadata} withReason />
			{isCancelable(entry) && (
				<div class="actions">
					<Action deviceKey={key} ask={{ command: "cancel_ota" }}>
						Cancel update
					</Action>
					<Outcome deviceKey={key} name="cancel_ota" />
				</div>
			)}
			{choice ? (
				<>
					<h3>
						{verb === words.update.verb && "Update "}
						{firmwareText(choice)} {text}
					</h3>
					{release?.notes && <p class="notes">{release.notes}</p>}
					{/* An upload may be a different build of the same version. */}
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
					No firmware for this device. <a href="#/firmware">Upload firmware</a>
				</p>
			)}
			{choices.length > 1 && !denial && (
				<details class="rest">
					<summary>Another version</summary>
					<Choice
						label="Version"
						value={choice?.selector ?? ""}
						onChange={setChosen}
						options={choices.map((offered) => [offered.selector, firmwareText(offered)])}
					/>
				</details>
			)}
			<History label="Previous updates" items={ended.reverse().map(updateEvent)} />
		</Panel>
	);
}

function isCancelable({ session: { metadata, features } }: Entry): boolean {
	return isUpdating(metadata) && metadata.otaStatus !== "rebooting" && features.includes("cancel");
}

const words = {
	update: { verb: "Update to", text: "available" },
	downgrade: { verb: "Downgrade to", text: "is older" },
	none: { verb: "Install again", text: "is already installed" },
	unknown: { verb: "Install", text: "can be installed" },
	unfit: { verb: "Install", text: "is for other devices" },
} as const;
