/** Settings of one device. The device tries new ones and reports whether it keeps them. */

import { useState } from "preact/hooks";
import type { ChangedSettings, StateReport } from "../../../../device/protocol/messages.js";
import { keysOf } from "../../../../device/protocol/schema.js";
import { trimmedSetting } from "../../../../hosts/esp32/nvs-settings.js";
import type { Entry } from "../../../api/client/fleet.js";
import { when } from "../../../api/client/words.js";
import { useApp, useHistory, useMayChange } from "../app/hooks.js";
import { newSettings } from "../model/pending-commands.js";
import { settingLabels, settingTypes } from "../model/setting-labels.js";
import { Button } from "../parts/button.js";
import { Outcome } from "../parts/controls.js";
import { Check, Field, type FieldProps } from "../parts/field.js";
import { Permitted } from "../parts/permitted.js";

const groups = ["Wi-Fi", "Second network", "Gateway"] as const;
type Group = (typeof groups)[number] | "Advanced";

interface SettingField extends Pick<FieldProps, "placeholder" | "maxLength"> {
	readonly group: Group;
	/** Label of the option that removes the setting; absent for a required one. */
	readonly removal?: string;
}

const openNetwork = "No password (open network)";
const settingFields: Readonly<Record<keyof ChangedSettings, SettingField>> = {
	ssid: { group: "Wi-Fi", maxLength: 32 },
	password: { group: "Wi-Fi", maxLength: 63, removal: openNetwork },
	ssid2: { group: "Second network", maxLength: 32, removal: "No second network" },
	password2: { group: "Second network", maxLength: 63, removal: openNetwork },
	gateway: { group: "Gateway", placeholder: "wss://gateway.example/device" },
	token: { group: "Gateway" },
	sntp: { group: "Advanced", removal: "Default server" },
	ca: { group: "Advanced", removal: "No authority" },
};
const settingNames = keysOf(settingFields);
/** Above the limit of every setting, so that the gateway reports the error; a longer frame would close the connection. */
const longestText = 8192;

export function DeviceSettings({ entry, state }: { entry: Entry; state: StateReport }) {
	const app = useApp();
	const mayChange = useMayChange();
	const [draft, setDraft] = useState<Draft>({});
	const { key, session } = entry;
	const keptAt = useHistory(key)?.details.settingsKeptAt;
	const attempt = app.pendingCommands.get(key, newSettings.command);
	const isOff = !mayChange || !session.connected || app.pendingCommands.isPending(key, newSettings.command);
	if (!session.features.includes("settings"))
		return <p class="empty">This firmware does not support new settings. Update it first.</p>;
	const reason = attempt?.reason ?? "";
	const invalid = settingNames.find((name) => reason.startsWith(`${settingLabels[name]} `));
	const onSubmit = async (event: SubmitEvent) => {
		event.preventDefault();
		const value = changedIn(draft);
		// Clears secrets; other values stay until the settings are saved, so that they can be corrected.
		setDraft(Object.fromEntries(settingNames.map((name) => [name, isSecret(name) ? "" : draft[name]])));
		if (Object.keys(value).length === 0) return;
		const { status } = await app.changeSettings(key, async () => value);
		if (status === "done") setDraft({});
	};
	const fieldsOf = (group: Group) =>
		settingNames
			.filter((name) => settingFields[name].group === group)
			.map((name) => {
				const { group: _, removal, ...field } = settingFields[name];
				return (
					<Field
						key={name}
						label={settingLabels[name]}
						type={settingTypes[name] ?? "text"}
						maxLength={longestText}
						placeholder="unchanged"
						{...field}
						value={draft[name] ?? ""}
						hint={name === "ssid" && state.network.wifi_connected && `Now: ${state.network.wifi_ssid}`}
						problem={name === invalid ? reason : undefined}
						onInput={(text) => {
							setDraft({ ...draft, [name]: text });
							if (name === invalid) app.pendingCommands.dismiss(key, newSettings.command);
						}}
					>
						{removal !== undefined && (
							<Check
								label={removal}
								checked={draft[name] === null}
								onToggle={(isRemoved) => setDraft({ ...draft, [name]: isRemoved ? null : "" })}
							/>
						)}
					</Field>
				);
			});
	return (
		<section class="panel settings" aria-label="Settings">
			<p class="hint">
				Blank fields stay unchanged. The device restarts to apply them, and restores its previous settings if
				it does not reach a gateway within 120 s. <a href="#/settings">Settings of all devices</a>
			</p>
			<Permitted>
				<form autocomplete="off" onSubmit={onSubmit}>
					<fieldset disabled={isOff} aria-label="New settings">
						{groups.map((group) => (
							<fieldset key={group}>
								<legend>{group}</legend>
								{fieldsOf(group)}
							</fieldset>
						))}
						<Button look="small" onClick={() => void app.replaceToken(key)}>
							Replace token
						</Button>
						<details open={invalid && settingFields[invalid].group === "Advanced"}>
							<summary>Advanced</summary>
							{fieldsOf("Advanced")}
						</details>
					</fieldset>
					<div class="actions">
						<button type="submit" class="primary" disabled={isOff}>
							Apply
						</button>
						{!invalid && <Outcome deviceKey={key} name={newSettings.command} />}
						{keptAt && <p class="hint">Saved {when(keptAt)}</p>}
					</div>
				</form>
			</Permitted>
		</section>
	);
}

/** Changed and removed settings of the form. */
function changedIn(draft: Draft): ChangedSettings {
	const changed = settingNames.map((name) => {
		const text = draft[name];
		const value = text && trimmedSetting(name, text);
		return value || text === null ? { [name]: value ?? "" } : {};
	});
	return Object.assign({}, ...changed);
}

function isSecret(name: keyof ChangedSettings): boolean {
	return settingTypes[name] === "password";
}

/** Texts of the fields; null for a setting to remove. */
type Draft = Partial<Record<keyof ChangedSettings, string | null | undefined>>;
