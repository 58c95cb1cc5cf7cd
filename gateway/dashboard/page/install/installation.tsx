/** The view that installs firmware on a board that is connected by USB to this computer. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { duration } from "../../../api/client/words.js";
import { deviceAddress, useDevice, useLeaveWarning, useNow, useTopic } from "../app/hooks.js";
import { Button } from "../parts/button.js";
import { Progress } from "../parts/presence.js";
import { Problem } from "../parts/problem.js";
import { LabelForm } from "../views/device-label.js";
import { InstallForm } from "./form.js";
import { Installer, type InstallState } from "./installer.js";
import type { Failure } from "./problems.js";
import { WithoutSerial } from "./without-serial.js";

/** @param search as in an address: "?virtual" where boards may be virtual ones, as in tests */
export function InstallationView({ search }: { search: string }) {
	const { serial } = navigator;
	const withVirtual = search === "?virtual";
	return (
		<div class="install">
			<h1>Add device</h1>
			{serial ? <WithSerial serial={serial} withVirtual={withVirtual} /> : <WithoutSerial />}
		</div>
	);
}

function WithSerial({ serial, withVirtual }: { serial: Serial; withVirtual: boolean }) {
	const app = useTopic("install");
	app.installer ??= new Installer({
		now: () => app.clock.now(),
		serial,
		sessionOf: (deviceId) => app.fleet.get(deviceId)?.session,
		onDevice: (deviceId, listener) => {
			// The summary of all devices does not name their sessions.
			const ends = [app.follow(deviceId), app.painter.listen(`device ${deviceId}`, listener)];
			return () => {
				for (const end of ends) end();
			};
		},
		onChanged: () => app.painter.mark("install"),
	});
	const { installer } = app;
	const { state } = installer;
	useLeaveWarning(installer.isBusy);
	return (
		<>
			<Progressing state={state} />
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
				<InstallForm
					withVirtual={withVirtual}
					onInstall={(installation) => installer.install(installation)}
				/>
			</div>
		</>
	);
}

function Progressing({ state }: { state: InstallState }) {
	switch (state.name) {
		case "idle":
		case "failed":
			return null;
		case "connecting":
			return (
				<Step status="Connecting to the board…">
					<Progress percent={null} label="Connecting" />
				</Step>
			);
		case "writing":
			return (
				<Step status={`Writing the firmware to ${state.deviceId}. Leave the board connected.`}>
					<Progress percent={state.percent} label={`Writing ${state.deviceId}`} />
				</Step>
			);
		case "waiting":
			return <Waiting {...state} />;
		case "done":
			return <Done deviceId={state.deviceId} />;
	}
}

interface StepProps {
	readonly status: string;
	/** Classes. */
	readonly look?: string;
	readonly children: ComponentChildren;
}

function Step({ status, look = "", children }: StepProps) {
	return (
		<section class="panel stack" aria-label="Installation">
			<p class={look} role="status">
				{status}
			</p>
			{children}
		</section>
	);
}

/** A device that is named now is found again later. */
function Done({ deviceId }: { deviceId: string }) {
	const entry = useDevice(deviceId);
	const [isNamed, setIsNamed] = useState(false);
	return (
		<Step status={`${deviceId} is installed and has joined the fleet.`} look="good">
			{entry && !isNamed && (
				<LabelForm deviceId={deviceId} given={entry.session} onEnd={() => setIsNamed(true)} />
			)}
			<p>
				<a href={deviceAddress(deviceId)}>Open {entry?.session.name ?? deviceId}</a>
			</p>
		</Step>
	);
}

/** A device that connects at all does so within this time. */
const patienceMs = 60_000;

interface WaitingProps {
	readonly deviceId: string;
	readonly isStuck: boolean;
	readonly since: number;
}

function Waiting({ deviceId, isStuck, since }: WaitingProps) {
	const waitedMs = useNow(1000) - since;
	return (
		<Step
			status={
				isStuck
					? `${deviceId} is installed. Press its reset button (EN or RST) now: it cannot start by itself after its BOOT button was used.`
					: `${deviceId} is installed. Waiting for it to connect…`
			}
		>
			<Progress percent={null} label="Waiting" />
			<Problem>
				{waitedMs > patienceMs &&
					`It has not connected for ${duration(patienceMs / 1000)}. Most often the Wi-Fi password is wrong: go back to the settings, which are kept here, and install again.`}
			</Problem>
			<ul class="ways">
				<li>
					<b>Its ring stays dark:</b> press its reset button (EN or RST); some boards do not restart by
					themselves.
				</li>
				<li>
					<b>Red:</b> it does not find the Wi-Fi, or the password is wrong.
				</li>
				<li>
					<b>Orange:</b> it does not reach the gateway at the address that was given.
				</li>
			</ul>
		</Step>
	);
}

function Failed({ problem }: { problem: Failure }) {
	return (
		<section class="panel stack failed" aria-label="What went wrong">
			<Problem>{problem.sentence}</Problem>
			<ul class="ways">
				{problem.ways.map((way) => (
					<li key={way}>{way}</li>
				))}
			</ul>
		</section>
	);
}
