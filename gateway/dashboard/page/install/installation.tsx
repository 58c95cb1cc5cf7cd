/** The view that installs firmware on a board that is connected by USB to this computer. */

import { topics } from "../app/app.js";
import { deviceAddress, useApp, useLeaveWarning, useTopic } from "../app/hooks.js";
import { Progress } from "../parts/presence.js";
import { InstallForm } from "./form.js";
import { Installer, type InstallState } from "./installer.js";
import type { Problem } from "./problems.js";
import { WithoutSerial } from "./without-serial.js";

export function InstallationView() {
	const { serial } = navigator;
	return (
		<div class="install">
			<h1>Add device</h1>
			{serial ? <WithSerial serial={serial} /> : <WithoutSerial />}
		</div>
	);
}

function WithSerial({ serial }: { serial: Serial }) {
	const app = useApp();
	useTopic(topics.install);
	app.installer ??= new Installer({
		serial,
		sessionOf: (deviceId) => app.fleet.get(deviceId)?.session,
		onDevice: (deviceId, listener) => {
			// The summary of all devices does not name their sessions.
			const ends = [app.follow(deviceId), app.painter.listen(topics.device(deviceId), listener)];
			return () => {
				for (const end of ends) end();
			};
		},
		onChanged: () => app.painter.mark(topics.install),
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
					<button type="button" onClick={() => installer.reset()}>
						{state.name === "done" ? "Add another device" : "Back to the settings"}
					</button>
				</p>
			)}
			{/* Kept while it is hidden: what was filled in must not be lost by a failure. */}
			<div hidden={state.name !== "idle" && state.name !== "failed"}>
				<InstallForm onInstall={(installation) => installer.install(installation)} />
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
				<section class="panel" aria-label="Installation">
					<p role="status">Connecting to the board…</p>
					<Progress percent={null} label="Connecting" />
				</section>
			);
		case "writing":
			return (
				<section class="panel" aria-label="Installation">
					<p role="status">Writing the firmware to {state.deviceId}. Leave the board connected.</p>
					<Progress percent={state.percent} label={`Writing ${state.deviceId}`} />
				</section>
			);
		case "waiting":
			return <Waiting deviceId={state.deviceId} isStuck={state.isStuck} />;
		case "done":
			return (
				<section class="panel" aria-label="Installation">
					<p class="good" role="status">
						{state.deviceId} is installed and has joined the fleet.
					</p>
					<p>
						<a href={deviceAddress(state.deviceId)}>Open {state.deviceId}</a>
					</p>
				</section>
			);
	}
}

function Waiting({ deviceId, isStuck }: { deviceId: string; isStuck: boolean }) {
	return (
		<section class="panel" aria-label="Installation">
			<p role="status">
				{isStuck
					? `${deviceId} is installed. Press its reset button (EN or RST) now: it cannot start by itself after its BOOT button was used.`
					: `${deviceId} is installed. Waiting for it to connect…`}
			</p>
			<Progress percent={null} label="Waiting" />
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
		</section>
	);
}

function Failed({ problem }: { problem: Problem }) {
	return (
		<section class="panel failed" aria-label="What went wrong">
			<p class="problem" role="alert">
				{problem.sentence}
			</p>
			<ul class="ways">
				{problem.ways.map((way) => (
					<li key={way}>{way}</li>
				))}
			</ul>
		</section>
	);
}
