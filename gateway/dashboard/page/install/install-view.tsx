/** View that installs firmware on a board connected by USB. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { models } from "../../../../device/protocol/schema.js";
import { duration } from "../../../api/client/words.js";
import type { Label } from "../../../api/label.js";
import { deviceAddress, ownDeviceAddress } from "../app/addresses.js";
import { useDevice, useLeaveWarning, useNow, useTopic } from "../app/hooks.js";
import { Button } from "../parts/button.js";
import { TokenCommand } from "../parts/copy-button.js";
import { PageHead } from "../parts/page-head.js";
import { Panel } from "../parts/panel.js";
import { Permitted } from "../parts/permitted.js";
import { Progress } from "../parts/presence.js";
import { Problem } from "../parts/problem.js";
import { LabelDialog } from "../views/device-label.js";
import type { InstallError } from "./errors.js";
import "../views/later-styles.js";
import { InstallForm } from "./form.js";
import { Installer } from "./installer.js";
import { isForThisComputer } from "./settings.js";

export function InstallView() {
	const { serial } = navigator;
	return (
		<>
			<PageHead title="Add device" />
			<div class="install">
				<Permitted>
					{serial ? <WithSerial serial={serial} /> : <WithoutSerial />}
					<CommandLine />
				</Permitted>
			</div>
		</>
	);
}

/** Installer of the page, which outlives the view. */
let installerOfPage: Installer | undefined;

function WithSerial({ serial }: { serial: Serial }) {
	const app = useTopic("install");
	installerOfPage ??= new Installer(app, serial);
	const installer = installerOfPage;
	const { state } = installer;
	useLeaveWarning(installer.isBusy);
	return (
		<>
			{state.name === "working" && <Step status={state.words} percent={state.percent} />}
			{state.name === "waiting" && <Waiting {...state} />}
			{state.name === "done" && <Done deviceId={state.deviceId} />}
			{state.name === "failed" && <Failed problem={state.problem} />}
			{(state.name === "waiting" || state.name === "done") && (
				<p>
					<Button onClick={() => installer.reset()}>
						{state.name === "done" ? "Add another device" : "Back to settings"}
					</Button>
				</p>
			)}
			{/* Hidden, not removed, so that a failure keeps the input. */}
			<div hidden={state.name !== "idle" && state.name !== "failed"}>
				<InstallForm installer={installer} />
			</div>
		</>
	);
}

interface StepProps {
	readonly status: string;
	/** Null if unknown; undefined without activity. */
	readonly percent?: number | null;
	readonly children?: ComponentChildren;
}

function Step({ status, percent, children }: StepProps) {
	return (
		<section class="panel stack" aria-label="Installation">
			<p class={percent === undefined ? "good" : ""} role="status">
				{status}
			</p>
			{percent !== undefined && <Progress percent={percent} label="Installation" />}
			{children}
		</section>
	);
}

/** Result of an installation, with a button for the label. */
function Done({ deviceId }: { deviceId: string }) {
	const entry = useDevice(deviceId);
	const [edited, setEdited] = useState<Label>();
	return (
		<Step status={`${deviceId} is installed and has joined the fleet.`}>
			{edited && <LabelDialog deviceId={deviceId} known={edited} onClosed={() => setEdited(undefined)} />}
			<p class="actions">
				<Button look="primary" isChange disabled={!entry} onClick={() => setEdited(entry?.session)}>
					Name it
				</Button>
				<a href={deviceAddress(deviceId)}>Open {entry?.session.name ?? deviceId}</a>
			</p>
		</Step>
	);
}

const ringMeanings = [
	[
		"Ring stays dark",
		"press the reset button (EN or RST). Some boards do not restart by themselves, such as after the BOOT button was used.",
	],
	["Red", "Wi-Fi network not found, or wrong password."],
	["Orange", "gateway unreachable at the configured address."],
] as const;

/** Time within which a device connects. */
const patienceMs = 60_000;

function Waiting({ words, since }: { words: string; since: number }) {
	const waitedMs = useNow(1000) - since;
	return (
		<Step percent={null} status={words}>
			<Problem>
				{waitedMs > patienceMs &&
					`No connection after ${duration(patienceMs / 1000)}. The most common cause is a wrong Wi-Fi password. Go back to the settings, correct it, and set up the device without reinstalling.`}
			</Problem>
			<ul class="ways">
				{ringMeanings.map(([ring, meaning]) => (
					<li key={ring}>
						<b>{ring}:</b> {meaning}
					</li>
				))}
			</ul>
		</Step>
	);
}

function Failed({ problem: { message, steps } }: { problem: InstallError }) {
	return (
		<section class="panel stack failed" aria-label="Installation failed">
			<Problem>{message}</Problem>
			<ul class="ways">
				{steps.map((step) => (
					<li key={step}>{step}</li>
				))}
			</ul>
		</section>
	);
}

/** Explanation for a browser without Web Serial. */
function WithoutSerial() {
	return (
		<Panel title="This browser cannot reach USB ports" look="stack">
			{isSecureContext ? (
				<p>
					This browser does not support Web Serial. Open this page in a browser on a computer that does, or
					use the command line.
				</p>
			) : (
				<p>
					Browsers allow access to USB ports only over https or on localhost. Open this page over https, or,
					on the computer that runs the gateway, at <code>http://localhost:{location.port || 80}</code>.
				</p>
			)}
		</Panel>
	);
}

const modelNames = models.map((model) => model.toLowerCase()).join(" or ");

/** Command that builds and installs the firmware. */
function CommandLine() {
	const settings = `ssid=<name> password=<password> gateway=${ownDeviceAddress()}`;
	return (
		<Panel title="Command line" look="stack">
			<p>In the project folder, with the board ({modelNames}) connected:</p>
			<TokenCommand text={(token) => `npm run flash -- dev-1 ${settings} token=${token}`} />
			{isForThisComputer(ownDeviceAddress()) && (
				<p class="hint">
					A board cannot reach <code>{location.hostname}</code>. Start the gateway with{" "}
					<code>HOST=0.0.0.0</code> and open this page at the computer's address on your network.
				</p>
			)}
			<p class="hint">
				Copy inserts the device token, which is a secret. On the computer of the gateway, omit{" "}
				<code>token=</code>. <code>npm run token -- &lt;device id&gt;</code> creates one for a single device.
			</p>
		</Panel>
	);
}
