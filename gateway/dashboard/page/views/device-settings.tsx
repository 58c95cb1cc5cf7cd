/** The settings of one device: what is known of the present ones, and new ones, of which the device reports whether it keeps them. */

import type { ChangedSettings, StateReport } from "../../../../device/protocol/messages.js";
import { keysOf } from "../../../../device/protocol/schema.js";
import type { Entry } from "../../../api/client/fleet.js";
import { timeLeft } from "../../../api/client/words.js";
import { useApp, useMayChange, useNow } from "../app/hooks.js";
import { type Attempt, newSettings } from "../model/asks.js";
import { settingLabels } from "../model/setting-labels.js";
import { Check, Field, type FieldProps } from "../parts/field.js";
import { Problem } from "../parts/problem.js";

interface SettingLook extends Pick<FieldProps, "type" | "placeholder" | "maxLength"> {
	/** What the device has without it; absent: the setting is required. */
	readonly removal?: string;
	/** What it has now, as far as it says so. */
	readonly present: (state: StateReport) => string;
}

/** No report names it. */
const notReported = () => "not reported";

/** A new setting does not compile until it is here. */
const looks: Readonly<Record<keyof ChangedSettings, SettingLook>> = {
	ssid: {
		maxLength: 32,
		present: ({ network }) => (network.wifi_connected ? network.wifi_ssid : "not connected by Wi-Fi"),
	},
	password: {
		type: "password",
		maxLength: 63,
		removal: "None: an open network",
		present: () => "secret, not reported",
	},
	ssid2: {
		maxLength: 32,
		removal: "No second network",
		present: notReported,
	},
	password2: {
		type: "password",
		maxLength: 63,
		removal: "None: the second network is open",
		present: () => "secret, not reported",
	},
	gateway: {
		placeholder: "wss://gateway.example/device",
		present: () => "one that leads here; not reported",
	},
	token: { type: "password", present: () => "set: this gateway took it" },
	sntp: { removal: "Its default one", present: notReported },
	ca: { type: "lines", removal: "No authority", present: notReported },
};
/** In the order of the form. */
const settingNames = keysOf(looks);
/** More than any setting takes, so that the gateway names the problem; a longer frame would end the connection. */
const longestText = 8192;

export function DeviceSettings({ entry, state }: { entry: Entry; state: StateReport }) {
	const app = useApp();
	const mayChange = useMayChange();
	const { key, session } = entry;
	const isPending = app.asks.isPending(key, newSettings.command);
	const isOff = !mayChange || !session.connected || isPending;
	if (!session.features.includes("settings"))
		return <p class="empty">Its firmware takes no new settings: update it first.</p>;
	const onSubmit = async (event: SubmitEvent) => {
		event.preventDefault();
		const form = event.currentTarget;
		if (!(form instanceof HTMLFormElement)) return;
		const value = changedIn(new FormData(form));
		// Secrets do not stay on the page; other values stay until they are kept, to be corrected.
		for (const secret of form.querySelectorAll<HTMLInputElement>("[data-secret=true]")) secret.value = "";
		if (Object.keys(value).length === 0) return;
		const { status } = await app.changeSettings(key, async () => value);
		if (status === "done") form.reset();
	};
	return (
		<section class="panel settings" aria-label="Settings">
			<p class="hint">
				Only what is filled in is sent. The device restarts to try it, and returns to its previous settings if
				it does not reach a gateway within 120 s. <a href="#/settings">Settings of all devices</a>
			</p>
			<form autocomplete="off" onSubmit={onSubmit}>
				<fieldset class="fields" disabled={isOff} aria-label="New settings">
					{settingNames.map((name) => {
						const { removal, present, ...look } = looks[name];
						return (
							<Field
								key={name}
								label={settingLabels[name]}
								maxLength={longestText}
								{...look}
								name={name}
								hint={`Now: ${present(state)}`}
							>
								{removal !== undefined && <Check name={removed(name)} label={removal} />}
							</Field>
						);
					})}
				</fieldset>
				<div class="actions">
					<button type="submit" class="primary" disabled={isOff}>
						Try these settings
					</button>
					<button type="button" disabled={isOff} onClick={() => void app.replaceToken(key)}>
						Replace its token
					</button>
				</div>
				<ChangeState change={app.asks.get(key, newSettings.command)} />
			</form>
		</section>
	);
}

/** The state of the latest change. */
function ChangeState({ change }: { change: Attempt | undefined }) {
	if (!change) return null;
	const { status, reason } = change;
	const isPending = status === "asked" || status === "taken";
	return (
		<div>
			<span role="status" class={isPending ? "sending" : "good"}>
				{isPending && "Trying new settings"}
				{status === "done" && "The device keeps the new settings."}
			</span>
			{status === "taken" && <TrialTime change={change} />}
			<Problem>
				{status === "failed" && `The device has its previous settings. ${reason}`}
				{status === "unknown" && reason}
			</Problem>
		</div>
	);
}

/** The countdown of a trial, apart from what a screen reader announces. */
export function TrialTime({ change: { endsAt = 0 } }: { change: Attempt }) {
	const secondsLeft = Math.ceil((endsAt - useNow(1000)) / 1000);
	return (
		<span class="hint">
			{secondsLeft > 0
				? `${timeLeft(secondsLeft)} left to reach a gateway`
				: "its time is over: it returns to its previous settings"}
		</span>
	);
}

/** What is filled in or to be removed. */
function changedIn(form: FormData): ChangedSettings {
	const of = (name: keyof ChangedSettings) => {
		const value = form.get(name);
		if (form.has(removed(name))) return { [name]: "" };
		return typeof value === "string" && value !== "" ? { [name]: value } : {};
	};
	return Object.assign({}, ...settingNames.map(of));
}

function removed(name: keyof ChangedSettings): string {
	return `without-${name}`;
}
