/** What is to be installed: the board, and the settings that it gets. */

import { useEffect, useId, useState } from "preact/hooks";
import { type Model, models } from "../../../../device/protocol/schema.js";
import { topics } from "../app/app.js";
import { useApp, useTopic } from "../app/hooks.js";
import { isLoopback, ownDeviceAddress } from "../model/own-address.js";
import type { Installation } from "./installer.js";
import { installableRelease, isBoardChip } from "./release.js";
import { type GivenSettings, isForThisComputer, isSecure, settingsProblems } from "./settings.js";

export function InstallForm({ onInstall }: { onInstall: (installation: Installation) => void }) {
	const { firmware } = useApp();
	useTopic(topics.firmware);
	useEffect(() => void firmware.refresh(), [firmware]);
	const [model, setModel] = useState<Model>("DEV-1");
	const [isKept, setIsKept] = useState(false);
	const [given, set] = useSettings();
	const [isChecked, setIsChecked] = useState(false);
	const { catalog } = firmware;
	const forBoards = installableRelease(catalog, model, isBoardChip);
	const release = forBoards ?? installableRelease(catalog, model, () => true);
	const problems = isKept ? {} : settingsProblems(given);
	const shown = isChecked ? problems : {};
	const onSubmit = (event: Event) => {
		event.preventDefault();
		setIsChecked(true);
		if (catalog && release && Object.keys(problems).length === 0)
			onInstall({ catalog, release, model, settings: isKept ? undefined : given });
	};
	return (
		<form class="panel" onSubmit={onSubmit} noValidate>
			<p>Connect the board to this computer by USB. Install asks for its port.</p>
			<label class="field">
				<span>Board</span>
				<select
					value={model}
					onChange={({ currentTarget }) =>
						setModel(models.find((one) => one === currentTarget.value) ?? "DEV-1")
					}
				>
					{models.map((one) => (
						<option key={one}>{one}</option>
					))}
				</select>
			</label>
			<p class={forBoards ? "hint" : "problem"} role="status">
				{forBoards && `Firmware ${forBoards.version}, the latest that can be installed.`}
				{release && !forBoards && (
					<>
						Firmware {release.version} is for virtual devices alone. Make a release for boards with the
						Moddable SDK: <code>npm run release -- 1.0.0</code>
					</>
				)}
				{catalog && !release && (
					<>
						No release for {model} can be installed yet. Make one: <code>npm run release -- 1.0.0</code>
					</>
				)}
				{firmware.problem}
			</p>
			<fieldset class="choices">
				<legend>Settings</legend>
				<Option isOn={!isKept} onChoose={() => setIsKept(false)}>
					New ones; what the board has is erased
				</Option>
				<Option isOn={isKept} onChoose={() => setIsKept(true)}>
					Keep those on the board
				</Option>
			</fieldset>
			{!isKept && <SettingFields given={given} problems={shown} onChange={set} />}
			<p>
				<button type="submit" class="primary" disabled={!release}>
					Install
				</button>
			</p>
		</form>
	);
}

/** The settings, filled in with how a device reaches this gateway. */
function useSettings(): readonly [GivenSettings, (change: Partial<GivenSettings>) => void] {
	const [given, setGiven] = useState<GivenSettings>({
		ssid: "",
		password: "",
		gateway: ownDeviceAddress(),
		authority: "",
	});
	const set = (change: Partial<GivenSettings>) => setGiven((previous) => ({ ...previous, ...change }));
	useEffect(() => {
		void readSetup().then(({ addresses, authority }) => {
			const other = addresses.find((address) => !isForThisComputer(address));
			set({
				...(isLoopback(location.hostname) && other !== undefined && { gateway: other }),
				...(authority !== null && { authority }),
			});
		});
	}, []);
	return [given, set];
}

interface Setup {
	readonly addresses: readonly string[];
	/** PEM. */
	readonly authority: string | null;
}

async function readSetup(): Promise<Setup> {
	const response = await fetch("api/device-setup", { cache: "no-store" }).catch(() => undefined);
	return response?.ok ? response.json() : { addresses: [], authority: null };
}

interface FieldsProps {
	readonly given: GivenSettings;
	readonly problems: Partial<Record<keyof GivenSettings, string>>;
	readonly onChange: (change: Partial<GivenSettings>) => void;
}

function SettingFields({ given, problems, onChange }: FieldsProps) {
	const field = (name: keyof GivenSettings) => ({
		value: given[name],
		problem: problems[name],
		onInput: (value: string) => onChange({ [name]: value }),
	});
	return (
		<>
			<Field label="Wi-Fi name" {...field("ssid")} />
			<Field
				label="Wi-Fi password"
				type="password"
				{...field("password")}
				hint="Empty for an open network."
			/>
			<Field label="Address of the gateway" {...field("gateway")} />
			{isForThisComputer(given.gateway) && (
				<p class="warning">
					A board cannot reach this address, which means the computer itself. Start the gateway with{" "}
					<code>HOST=0.0.0.0</code>, and give its address on your network, such as{" "}
					<code>ws://192.168.1.10:8080/device</code>.
				</p>
			)}
			{isSecure(given.gateway) && (
				<Field
					label="Certificate of the authority, in PEM"
					type="lines"
					{...field("authority")}
					hint="With it the device knows the gateway: that of the authority that signed the gateway's certificate."
				/>
			)}
			<p class="hint">The device also gets a token, which is made for it alone.</p>
		</>
	);
}

interface FieldProps {
	readonly label: string;
	readonly value: string;
	readonly type?: "text" | "password" | "lines";
	readonly problem: string | undefined;
	readonly hint?: string;
	readonly onInput: (value: string) => void;
}

function Field({ label, value, type = "text", problem, hint, onInput }: FieldProps) {
	const id = useId();
	const attributes = {
		id,
		value,
		spellcheck: false,
		autocomplete: "off",
		autocapitalize: "off",
		"aria-invalid": problem !== undefined,
		"aria-describedby": `${id}-problem ${id}-hint`,
		onInput: ({ currentTarget }: { currentTarget: { value: string } }) => onInput(currentTarget.value),
	} as const;
	return (
		<div class="field">
			<label for={id}>{label}</label>
			{type === "lines" && <textarea {...attributes} rows={4} />}
			{type === "password" && <input {...attributes} type="password" />}
			{type === "text" && <input {...attributes} type="text" />}
			<p class="problem" id={`${id}-problem`} role="alert">
				{problem}
			</p>
			<p class="hint" id={`${id}-hint`}>
				{hint}
			</p>
		</div>
	);
}

interface OptionProps {
	readonly isOn: boolean;
	readonly onChoose: () => void;
	readonly children: string;
}

function Option({ isOn, onChoose, children }: OptionProps) {
	return (
		<label class="check">
			<input type="radio" name="settings" checked={isOn} onChange={onChoose} />
			<span>{children}</span>
		</label>
	);
}
