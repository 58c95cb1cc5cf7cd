/** The settings of one device: filled in values are sent, and the device reports whether it keeps them. */

import { useId } from "preact/hooks";
import type { ChangedSettings } from "../../../../device/protocol/messages.js";
import { keysOf } from "../../../../device/protocol/schema.js";
import type { Entry } from "../../../api/client/fleet.js";
import { useApp, useIsLive } from "../app/hooks.js";
import type { SettingsChange } from "../model/settings-changes.js";

/** A new setting does not compile until it is here. */
const looks: Readonly<Record<keyof ChangedSettings, Omit<FieldProps, "name">>> = {
	ssid: { label: "Wi-Fi name", maxLength: 32 },
	password: { label: "Wi-Fi password", isSecret: true, maxLength: 63, removal: "None: an open network" },
	ssid2: { label: "Second Wi-Fi name", maxLength: 32, removal: "No second network" },
	password2: {
		label: "Second Wi-Fi password",
		isSecret: true,
		maxLength: 63,
		removal: "None: the second network is open",
	},
	gateway: { label: "Gateway's address", placeholder: "wss://gateway.example/device" },
	token: { label: "Token", isSecret: true },
	sntp: { label: "Time server", removal: "Its default one" },
	ca: { label: "Certificate authority (PEM)", isLong: true, removal: "No authority" },
};
/** In the order of the form. */
const settingNames = keysOf(looks);

export function DeviceSettings({ entry }: { entry: Entry }) {
	const app = useApp();
	const isLive = useIsLive();
	const { key, session } = entry;
	const isPending = app.settings.isPending(key);
	const isOff = !isLive || !session.connected || isPending;
	const onSubmit = async (event: SubmitEvent) => {
		event.preventDefault();
		const form = event.currentTarget;
		if (!(form instanceof HTMLFormElement)) return;
		const value = changedIn(new FormData(form));
		// Secrets do not stay on the page; other values stay until they are kept, to be corrected.
		for (const secret of form.querySelectorAll<HTMLInputElement>("[type=password]")) secret.value = "";
		if (Object.keys(value).length === 0) return;
		const { status } = await app.settings.change(key, async () => value);
		if (status === "kept") form.reset();
	};
	return (
		<section class="panel settings" aria-label="Settings">
			<h2>Settings</h2>
			<p class="hint">
				Only what is filled in is sent. The device restarts to try it, and returns to its previous settings if
				it does not reach a gateway within 120 s. <a href="#/settings">Settings of all devices</a>
			</p>
			<form autocomplete="off" onSubmit={onSubmit}>
				<fieldset class="fields" disabled={isOff} aria-label="New settings">
					{settingNames.map((name) => (
						<Field key={name} name={name} {...looks[name]} />
					))}
				</fieldset>
				<div class="actions">
					<button type="submit" class="primary" disabled={isOff}>
						Try these settings
					</button>
					<button type="button" disabled={isOff} onClick={() => void app.replaceToken(key)}>
						Replace its token
					</button>
				</div>
			</form>
			<ChangeState change={app.settings.get(key)} />
		</section>
	);
}

/** More than any setting takes, so that the gateway names the problem; a longer frame would end the connection. */
const longestText = 8192;

interface FieldProps {
	readonly name: keyof ChangedSettings;
	readonly label: string;
	readonly placeholder?: string;
	readonly maxLength?: number;
	readonly isSecret?: boolean;
	readonly isLong?: boolean;
	/** What the device has without it; absent: the setting is required. */
	readonly removal?: string;
}

export function Field({ name, label, placeholder, maxLength, isSecret, isLong, removal }: FieldProps) {
	const id = useId();
	const common = {
		id,
		name,
		placeholder,
		maxLength: maxLength ?? longestText,
		autocomplete: isSecret ? "new-password" : "off",
		spellcheck: false,
	};
	return (
		<div class={`field ${isLong ? "long" : ""}`}>
			<label for={id}>{label}</label>
			{isLong && <textarea {...common} rows={3} />}
			{isSecret && <input {...common} type="password" />}
			{!isLong && !isSecret && <input {...common} type="text" />}
			{removal !== undefined && (
				<label class="check">
					<input type="checkbox" name={removed(name)} />
					<span>{removal}</span>
				</label>
			)}
		</div>
	);
}

/** The state of the latest change. */
export function ChangeState({ change }: { change: SettingsChange | undefined }) {
	const isPending = change?.status === "asked" || change?.status === "trying";
	return (
		<div class="change-state">
			<span role="status" class={isPending ? "sending" : "good"}>
				{change?.status === "asked" && "sending"}
				{change?.status === "trying" && "trying, up to 120 s"}
				{change?.status === "kept" && "The device keeps the new settings."}
			</span>
			<span role="alert" class="problem">
				{change?.status === "failed" && `The device has its previous settings. ${change.reason}`}
				{change?.status === "unknown" && change.reason}
			</span>
		</div>
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
