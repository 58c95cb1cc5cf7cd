/** Form for the installation: board model and settings. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Model, models } from "../../../../device/protocol/schema.js";
import { isThisComputer, trimmedSetting } from "../../../../hosts/esp32/nvs-settings.js";
import { request } from "../app/gateway.js";
import { useFirmware } from "../app/hooks.js";
import { ownDeviceAddress } from "../model/own-address.js";
import { Button } from "../parts/button.js";
import { Check, Choice, Field } from "../parts/field.js";
import type { Installer } from "./installer.js";
import { installableRelease, isBoardChip } from "./release.js";
import { type GivenSettings, isForThisComputer, isSecure, settingsProblems } from "./settings.js";

interface InstallFormProps {
	readonly withVirtual: boolean;
	readonly installer: Installer;
}

/** `setUp`: new ones for the firmware that is on the board. */
type Way = "new" | "keep" | "setUp";

export function InstallForm({ withVirtual, installer }: InstallFormProps) {
	const firmware = useFirmware();
	const [model, setModel] = useState<Model>("DEV-1");
	const [way, setWay] = useState<Way>("new");
	const [networks, setNetworks] = useState<readonly string[]>();
	const [given, setGiven] = useState(emptySettings);
	const set = (change: Partial<GivenSettings>) => setGiven((previous) => ({ ...previous, ...change }));
	useEffect(() => void readSetup().then(set, () => {}), []);
	/** How often a person wanted to install: before the first time nothing is called wrong. */
	const [tries, setTries] = useState(0);
	const form = useRef<HTMLFormElement>(null);
	useLayoutEffect(() => {
		const invalid = form.current?.querySelector<HTMLElement>("[aria-invalid]");
		const folded = invalid?.closest("details");
		if (folded) folded.open = true;
		invalid?.focus();
	}, [tries]);
	const { catalog } = firmware;
	const release = installableRelease(catalog, model, withVirtual ? () => true : isBoardChip);
	const problems = settingsProblems(given);
	const onSubmit = (event: Event) => {
		event.preventDefault();
		setTries(tries + 1);
		const isRight = way === "keep" || Object.values(problems).every((problem) => problem === undefined);
		if (!isRight) return;
		if (way === "setUp") void installer.setUp(given);
		else if (catalog && release)
			void installer.install({
				catalog,
				release,
				model,
				isVirtual: withVirtual,
				settings: way === "keep" ? undefined : given,
			});
	};
	const choice = (one: Way, label: string) => (
		<Check isRadio name="settings" label={label} checked={way === one} onToggle={() => setWay(one)} />
	);
	return (
		<form ref={form} class="panel stack" onSubmit={onSubmit} noValidate>
			<p>Connect the board to this computer by USB. The browser asks for its port.</p>
			<fieldset class="choices">
				<legend>Settings</legend>
				{choice("new", "New ones; what the board has is erased")}
				{choice("keep", "Keep those on the board")}
				{choice("setUp", "Without installing: set up the firmware that is on the board")}
			</fieldset>
			{way !== "setUp" && (
				<>
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
				</>
			)}
			{way === "setUp" && (
				<p>
					<Button onClick={async () => setNetworks(await installer.findNetworks())}>Find networks</Button>{" "}
					<span class="hint" role="status">
						{networks &&
							(networks.length > 0
								? `In the board's range: ${networks.join(", ")}.`
								: "The board finds no networks.")}
					</span>
				</p>
			)}
			{way !== "keep" && (
				<SettingFields
					given={given}
					problems={tries > 0 ? problems : {}}
					networks={way === "setUp" ? networks : undefined}
					onChange={set}
				/>
			)}
			<p>
				<button type="submit" class="primary" disabled={way !== "setUp" && !release}>
					{way === "setUp" ? "Set up" : "Install"}
				</button>
			</p>
		</form>
	);
}

const emptySettings: GivenSettings = {
	ssid: "",
	password: "",
	ssid2: "",
	password2: "",
	gateway: ownDeviceAddress(),
	authority: "",
};

/** How a device reaches this gateway. @throws Rejection */
async function readSetup(): Promise<Partial<GivenSettings>> {
	const { addresses, authority } = await request("GET /api/device-setup");
	const other = addresses.find((address) => !isForThisComputer(address));
	return {
		...(isThisComputer(location.hostname) && other !== undefined && { gateway: other }),
		...(authority !== null && { authority }),
	};
}

interface FieldsProps {
	readonly given: GivenSettings;
	readonly problems: Readonly<Partial<Record<keyof GivenSettings, string | undefined>>>;
	/** Networks in range; undefined: not scanned. */
	readonly networks: readonly string[] | undefined;
	readonly onChange: (change: Partial<GivenSettings>) => void;
}

function SettingFields({ given, problems, networks, onChange }: FieldsProps) {
	const field = (name: keyof GivenSettings) => ({
		value: given[name],
		problem: problems[name],
		onInput: (value: string) => onChange({ [name]: trimmedSetting(name, value) }),
	});
	return (
		<>
			<Field label="Wi-Fi name" {...field("ssid")} {...(networks && { known: networks })} />
			<Field
				label="Wi-Fi password"
				type="password"
				{...field("password")}
				hint="Empty for an open network."
			/>
			<details class="more">
				<summary>Second network</summary>
				<div class="stack">
					<p class="hint">
						For when the first one cannot be joined. The same name with another password is for a password
						that will change.
					</p>
					<Field label="Second Wi-Fi name" {...field("ssid2")} />
					<Field label="Second Wi-Fi password" type="password" {...field("password2")} />
				</div>
			</details>
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
