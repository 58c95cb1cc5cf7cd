/** What is to be installed: the board, and the settings that it gets. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Model, models } from "../../../../device/protocol/schema.js";
import { ask } from "../../../api/client/request.js";
import { useTopic } from "../app/hooks.js";
import { isLoopback, ownDeviceAddress } from "../model/own-address.js";
import { Check, Choice, Field } from "../parts/field.js";
import type { Installation } from "./installer.js";
import { installableRelease, isBoardChip } from "./release.js";
import { type GivenSettings, isForThisComputer, isSecure, settingsProblems } from "./settings.js";

interface InstallFormProps {
	readonly withVirtual: boolean;
	readonly onInstall: (installation: Installation) => void;
}

export function InstallForm({ withVirtual, onInstall }: InstallFormProps) {
	const { firmware } = useTopic("firmware");
	useEffect(() => void firmware.refresh(), [firmware]);
	const [model, setModel] = useState<Model>("DEV-1");
	const [isKept, setIsKept] = useState(false);
	const [given, set] = useSettings();
	/** How often a person wanted to install: before the first time nothing is called wrong. */
	const [tries, setTries] = useState(0);
	const form = useRef<HTMLFormElement>(null);
	useLayoutEffect(() => {
		if (tries > 0) form.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus();
	}, [tries]);
	const { catalog } = firmware;
	const isMeant = withVirtual ? () => true : isBoardChip;
	const release = installableRelease(catalog, model, isMeant);
	const problems = isKept ? {} : settingsProblems(given);
	const shown = tries > 0 ? problems : {};
	const onSubmit = (event: Event) => {
		event.preventDefault();
		setTries(tries + 1);
		if (catalog && release && Object.keys(problems).length === 0)
			onInstall({ catalog, release, model, settings: isKept ? undefined : given });
	};
	return (
		<form ref={form} class="panel stack" onSubmit={onSubmit} noValidate>
			<p>Connect the board to this computer by USB. Install asks for its port.</p>
			<Choice label="Board" value={model} onChange={setModel} options={models.map((one) => [one, one])} />
			<p class={release ? "hint" : "problem"} role="status">
				{release && `Firmware ${release.version}, the latest that can be installed.`}
				{catalog && !release && (
					<>
						This gateway has no release for {model} boards yet. Make one with the Moddable SDK:{" "}
						<code>npm run release -- 1.0.0</code>
					</>
				)}
				{firmware.problem}
			</p>
			<fieldset class="choices">
				<legend>Settings</legend>
				<Check
					isRadio
					name="settings"
					label="New ones; what the board has is erased"
					checked={!isKept}
					onToggle={() => setIsKept(false)}
				/>
				<Check
					isRadio
					name="settings"
					label="Keep those on the board"
					checked={isKept}
					onToggle={() => setIsKept(true)}
				/>
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
		ssid2: "",
		password2: "",
		gateway: ownDeviceAddress(),
		authority: "",
	});
	const set = (change: Partial<GivenSettings>) => setGiven((previous) => ({ ...previous, ...change }));
	useEffect(() => {
		void ask<Setup>("api/device-setup")
			.catch(() => nothing)
			.then(({ addresses, authority }) => {
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

const nothing: Setup = { addresses: [], authority: null };

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
			<Folded label="Second network" isOpen={Boolean(problems.ssid2 ?? problems.password2)}>
				<p class="hint">
					For when the first one cannot be joined. The same name with another password is for a password that
					will change.
				</p>
				<Field label="Second Wi-Fi name" {...field("ssid2")} />
				<Field label="Second Wi-Fi password" type="password" {...field("password2")} />
			</Folded>
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

interface FoldedProps {
	readonly label: string;
	/** Opens it; a person can open it too, and closes it. */
	readonly isOpen: boolean;
	readonly children: ComponentChildren;
}

function Folded({ label, isOpen, children }: FoldedProps) {
	const [isShown, setIsShown] = useState(false);
	return (
		<details
			class="more"
			open={isOpen || isShown}
			onToggle={({ currentTarget }) => setIsShown(currentTarget.open)}
		>
			<summary>{label}</summary>
			<div class="stack">{children}</div>
		</details>
	);
}
