/** Form for the installation: board model and settings. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Model, models } from "../../../../device/protocol/schema.js";
import { isLoopback, trimmedSetting } from "../../../../hosts/esp32/nvs-settings.js";
import { ownDeviceAddress } from "../app/addresses.js";
import { request } from "../app/gateway.js";
import { useFirmware } from "../app/hooks.js";
import { settingLabels, settingTypes } from "../model/setting-labels.js";
import { Button } from "../parts/button.js";
import { Cards, Choice, Field, type FieldProps } from "../parts/field.js";
import type { Installer } from "./installer.js";
import { installableRelease, isBoardChip } from "./release.js";
import { isForThisComputer, isSecure, type SettingsInput, settingsProblems } from "./settings.js";

/** Install, or only set up the installed firmware. */
type Mode = "install" | "setUp";
const modes: readonly (readonly [Mode, title: string])[] = [
	["install", "Install firmware and settings (erases those on the board)"],
	["setUp", "Set up the installed firmware without reinstalling"],
];

export function InstallForm({ installer }: { readonly installer: Installer }) {
	const firmware = useFirmware();
	const [model, setModel] = useState<Model>("DEV-1");
	const [mode, setMode] = useState<Mode>("install");
	const [networks, setNetworks] = useState<readonly string[]>();
	const [settings, setSettings] = useState(emptySettings);
	const set = (change: Partial<SettingsInput>) => setSettings((previous) => ({ ...previous, ...change }));
	useEffect(() => void readSetup().then(set, () => {}), []);
	/** Number of submits; validation errors are shown after the first. */
	const [submits, setSubmits] = useState(0);
	const form = useRef<HTMLFormElement>(null);
	useLayoutEffect(() => {
		const invalid = form.current?.querySelector<HTMLElement>("[aria-invalid]");
		const folded = invalid?.closest("details");
		if (folded) folded.open = true;
		invalid?.focus();
	}, [submits]);
	const { catalog } = firmware;
	const release = installableRelease(catalog, model, isBoardChip);
	const problems = settingsProblems(settings);
	const onSubmit = (event: Event) => {
		event.preventDefault();
		setSubmits(submits + 1);
		if (Object.values(problems).some((problem) => problem !== undefined)) return;
		if (mode === "setUp") void installer.setUp(settings);
		else if (catalog && release) void installer.install({ catalog, model, settings });
	};
	return (
		<form ref={form} class="panel stack" onSubmit={onSubmit} noValidate>
			<p>Connect the board to this computer by USB. The browser will ask for its port.</p>
			<Cards label="Settings" value={mode} onChange={setMode} options={modes} />
			{mode !== "setUp" && (
				<>
					<Choice
						label="Board"
						value={model}
						onChange={setModel}
						options={models.map((name) => [name, name])}
					/>
					<p class={release ? "hint" : "problem"} role="status">
						{release && `Installs firmware ${release.version}.`}
						{catalog && !release && (
							<>
								No release for {model} boards yet. Create one with the Moddable SDK:{" "}
								<code>npm run release -- 1.0.0</code>
							</>
						)}
						{firmware.problem}
					</p>
				</>
			)}
			{mode === "setUp" && (
				<p>
					<Button onClick={async () => setNetworks(await installer.findNetworks())}>Find networks</Button>{" "}
					<span class="hint" role="status">
						{networks &&
							(networks.length > 0
								? `In range of the board: ${networks.join(", ")}.`
								: "No networks in range of the board.")}
					</span>
				</p>
			)}
			<SettingFields
				settings={settings}
				problems={submits > 0 ? problems : {}}
				networks={mode === "setUp" ? networks : undefined}
				onChange={set}
			/>
			<p>
				<button type="submit" class="primary" disabled={mode !== "setUp" && !release}>
					{mode === "setUp" ? "Set up" : "Install"}
				</button>
			</p>
		</form>
	);
}

const emptySettings: SettingsInput = {
	ssid: "",
	password: "",
	ssid2: "",
	password2: "",
	gateway: ownDeviceAddress(),
	ca: "",
};

/** Loads the gateway address for devices. @throws Rejection */
async function readSetup(): Promise<Partial<SettingsInput>> {
	const { addresses, authority } = await request("GET /api/device-setup");
	const other = addresses.find((address) => !isForThisComputer(address));
	return {
		...(isLoopback(location.hostname) && other !== undefined && { gateway: other }),
		...(authority !== null && { ca: authority }),
	};
}

interface FieldsProps {
	readonly settings: SettingsInput;
	readonly problems: Readonly<Partial<Record<keyof SettingsInput, string | undefined>>>;
	/** Networks that were found; undefined before a scan. */
	readonly networks: readonly string[] | undefined;
	readonly onChange: (change: Partial<SettingsInput>) => void;
}

function SettingFields({ settings, problems, networks, onChange }: FieldsProps) {
	const field = (name: keyof SettingsInput): FieldProps => ({
		label: settingLabels[name],
		type: settingTypes[name] ?? "text",
		value: settings[name],
		problem: problems[name],
		onInput: (value: string) => onChange({ [name]: trimmedSetting(name, value) }),
	});
	return (
		<>
			<Field {...field("ssid")} {...(networks && { known: networks })} />
			<Field {...field("password")} hint="Leave empty for an open network." />
			<details>
				<summary>Second network</summary>
				<div class="column">
					<p class="hint">
						Used if the first network cannot be joined. Enter the same name with a new password before you
						change the password of the network.
					</p>
					<Field {...field("ssid2")} />
					<Field {...field("password2")} />
				</div>
			</details>
			<Field {...field("gateway")} />
			{isForThisComputer(settings.gateway) && (
				<p class="warning">
					A board cannot reach this address, which is local to the computer. Start the gateway with{" "}
					<code>HOST=0.0.0.0</code> and enter its address on your network, such as{" "}
					<code>ws://192.168.1.10:8080/device</code>.
				</p>
			)}
			{isSecure(settings.gateway) && (
				<Field
					{...field("ca")}
					hint="Certificate of the authority that signed the gateway's certificate. The device verifies the gateway with it."
				/>
			)}
			<p class="hint">The device also receives its own token.</p>
		</>
	);
}
