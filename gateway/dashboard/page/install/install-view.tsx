/** View that installs firmware on a board connected by USB. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { duration } from "../../../api/client/words.js";
import { deviceAddress, useDevice, useLeaveWarning, useNow, useTopic } from "../app/hooks.js";
import { Button } from "../parts/button.js";
import { Panel } from "../parts/panel.js";
import { Progress } from "../parts/presence.js";
import { Problem } from "../parts/problem.js";
import { SaveForm } from "../parts/save-form.js";
import { FlashCommand, ModelNames } from "../parts/token-command.js";
import { LabelFields, saveLabel } from "../views/device-label.js";
import type { InstallError } from "./errors.js";
import { InstallForm } from "./form.js";
import { Installer } from "./installer.js";

/** @param search query of the address; "?virtual" accepts virtual devices as boards, for tests */
export function InstallView({ search }: { search: string }) {
	const { serial } = navigator;
	const withVirtual = search === "?virtual";
	return (
		<div class="install">
			<h1>Add device</h1>
			{serial ? <WithSerial serial={serial} withVirtual={withVirtual} /> : <WithoutSerial />}
		</div>
	);
}

/** Installer of the page, which outlives the view. */
let installerOfPage: Installer | undefined;

function WithSerial({ serial, withVirtual }: { serial: Serial; withVirtual: boolean }) {
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
						{state.name === "done" ? "Add another device" : "Back to the settings"}
					</Button>
				</p>
			)}
			{/* Kept while it is hidden: what was filled in must not be lost by a failure. */}
			<div hidden={state.name !== "idle" && state.name !== "failed"}>
				<InstallForm withVirtual={withVirtual} installer={installer} />
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

/** Result of an installation, with a form for the label. */
function Done({ deviceId }: { deviceId: string }) {
	const entry = useDevice(deviceId);
	const [isNamed, setIsNamed] = useState(false);
	return (
		<Step status={`${deviceId} is installed and has joined the fleet.`}>
			{entry && !isNamed && (
				<SaveForm onSave={(form) => saveLabel(deviceId, form)} onEnd={() => setIsNamed(true)}>
					<LabelFields deviceId={deviceId} given={entry.session} />
				</SaveForm>
			)}
			<p>
				<a href={deviceAddress(deviceId)}>Open {entry?.session.name ?? deviceId}</a>
			</p>
		</Step>
	);
}

const ringMeanings = [
	["Its ring stays dark", "press its reset button (EN or RST); some boards do not restart by themselves."],
	["Red", "it does not find the Wi-Fi, or the password is wrong."],
	["Orange", "it does not reach the gateway at the address that was given."],
] as const;

/** Time within which a device connects. */
const patienceMs = 60_000;

function Waiting({ words, since }: { words: string; since: number }) {
	const waitedMs = useNow(1000) - since;
	return (
		<Step percent={null} status={words}>
			<Problem>
				{waitedMs > patienceMs &&
					`It has not connected for ${duration(patienceMs / 1000)}. Most often the Wi-Fi password is wrong: go back to the settings, which are kept, and give them again without installing.`}
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

function Failed({ problem: { message, ways } }: { problem: InstallError }) {
	return (
		<section class="panel stack failed" aria-label="What went wrong">
			<Problem>{message}</Problem>
			<ul class="ways">
				{ways.map((way) => (
					<li key={way}>{way}</li>
				))}
			</ul>
		</section>
	);
}

/** Explanation for a browser without Web Serial, and the command line alternative. */
function WithoutSerial() {
	return (
		<>
			<Panel title="This browser cannot reach USB ports" look="stack">
				{isSecureContext ? (
					<p>
						This browser has no Web Serial, by which a page reaches a board. Open this page in a browser on a
						computer that has it, or use the command line.
					</p>
				) : (
					<p>
						Browsers give USB ports only to pages that came by https, or from the computer itself. Open this
						page by https, or, on the computer that the gateway runs on, by{" "}
						<code>http://localhost:{location.port || 80}</code>.
					</p>
				)}
			</Panel>
			<Panel title="By command line" look="stack">
				<p>
					In the project's folder, with the board connected; <ModelNames /> comes first:
				</p>
				<FlashCommand />
				<p class="hint">
					Copy fills in the device token, which is a secret. On the gateway's computer leave out{" "}
					<code>token=</code>: it is found there. <code>npm run token -- &lt;device id&gt;</code> makes one
					for a single device.
				</p>
			</Panel>
		</>
	);
}
