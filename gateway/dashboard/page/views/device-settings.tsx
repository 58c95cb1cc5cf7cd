/** Settings of one device. The device tries new ones and reports whether it keeps them. */

import { useRef } from "preact/hooks";
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
	const form = useRef<HTMLFormElement>(null);
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
		if (!form.current) return;
		const value = changedIn(new FormData(form.current));
		// Clears secrets; other values stay until the settings are saved, so that they can be corrected.
		for (const secret of form.current.querySelectorAll<HTMLInputElement>("[data-secret=true]"))
			secret.value = "";
		if (Object.keys(value).length === 0) return;
		const { status } = await app.changeSettings(key, async () => value);
		if (status === "done") form.current?.reset();
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
						name={name}
						hint={name === "ssid" && state.network.wifi_connected && `Now: ${state.network.wifi_ssid}`}
						problem={name === invalid ? reason : undefined}
						onInput={() => name === invalid && app.pendingCommands.dismiss(key, newSettings.command)}
					>
						{removal !== undefined && <Check name={removed(name)} label={removal} />}
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
				<form ref={form} autocomplete="off" onSubmit={onSubmit}>
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
function changedIn(form: FormData): ChangedSettings {
	const of = (name: keyof ChangedSettings) => {
		const value = trimmedSetting(name, String(form.get(name) ?? ""));
		if (form.has(removed(name))) return { [name]: "" };
		return value === "" ? {} : { [name]: value };
	};
	return Object.assign({}, ...settingNames.map(of));
}

function removed(name: keyof ChangedSettings): string {
	return `without-${name}`;
}
