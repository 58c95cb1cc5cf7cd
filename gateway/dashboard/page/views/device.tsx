/** One device: what it shows, what it can be told, how it fares, and what it said. */

import { topics } from "../app/app.js";
import { useApp, useFollowedDevice, useTopic } from "../app/hooks.js";
import type { Entry } from "../model/fleet.js";
import { Action, Outcome } from "../parts/controls.js";
import { Presence, SafeMode, Signal } from "../parts/presence.js";
import { Ring, ringText } from "../parts/ring.js";
import { DeviceControls, Inputs } from "./device-controls.js";
import { DeviceCrashes } from "./device-crashes.js";
import { Facts } from "./device-facts.js";
import { DeviceLog } from "./device-log.js";
import { DevicePlots } from "./device-plots.js";
import { DeviceSettings } from "./device-settings.js";
import { DeviceTrace } from "./device-trace.js";
import { DeviceUpdate } from "./device-update.js";

export function DeviceView({ deviceKey }: { deviceKey: string }) {
	useTopic(topics.link);
	const entry = useFollowedDevice(deviceKey);
	if (!entry) return <Unknown deviceKey={deviceKey} />;
	return (
		<div class="device">
			<Head entry={entry} />
			{entry.state && entry.session.deviceId !== null ? (
				<>
					<DeviceControls entry={entry} state={entry.state} />
					<Inputs state={entry.state} />
					<DevicePlots entry={entry} />
					<DeviceUpdate entry={entry} />
					<Facts entry={entry} state={entry.state} />
					{entry.session.features.includes("settings") && <DeviceSettings entry={entry} />}
					<DeviceCrashes deviceKey={deviceKey} />
					<DeviceTrace entry={entry} />
				</>
			) : (
				<p class="empty">It has not reported yet; a device does so within seconds of connecting.</p>
			)}
			<DeviceLog deviceKey={deviceKey} />
		</div>
	);
}

function Head({ entry }: { entry: Entry }) {
	const { key, session, state } = entry;
	const audio = state?.peripherals.audio;
	return (
		<section class="panel hero" aria-label="Overview">
			<Ring entry={entry} size="large">
				{audio && session.connected && (
					<>
						<strong>{audio.volume}</strong>
						<span>volume</span>
					</>
				)}
			</Ring>
			<div class="hero-text">
				<p class="crumb">
					<a href="#/">Fleet</a>
				</p>
				<h1>{session.deviceId ?? "Not named yet"}</h1>
				<p class="facts">
					<span>{session.model ?? "Model not known"}</span>
					{session.firmwareVersion !== null && <span>Firmware {session.firmwareVersion}</span>}
					<Signal entry={entry} />
				</p>
				<p>
					<Presence entry={entry} />
				</p>
				<p class="hint">Ring: {ringText(entry)}</p>
				<SafeMode entry={entry} withHelp />
				<div class="actions">
					<Action deviceKey={key} name="identify" toAsk={() => ({ command: "identify" })}>
						Identify
					</Action>
					<Action deviceKey={key} name="query_state" toAsk={() => ({ command: "query_state" })}>
						Ask for a report
					</Action>
					<Action deviceKey={key} name="boot_device" toAsk={() => ({ command: "boot_device" })}>
						Restart its connection
					</Action>
				</div>
				<Outcome deviceKey={key} name="identify" />
				<Outcome deviceKey={key} name="query_state" />
				<Outcome deviceKey={key} name="boot_device" />
			</div>
		</section>
	);
}

function Unknown({ deviceKey }: { deviceKey: string }) {
	const { linkState } = useApp();
	if (linkState.name !== "live")
		return (
			<p class="empty" role="status">
				Looking for {deviceKey}…
			</p>
		);
	return (
		<div class="empty">
			<h1>No device is called {deviceKey}</h1>
			<p>It has never reached this gateway, was forgotten, or goes by another name now.</p>
			<p>
				<a href="#/">All devices</a>
			</p>
		</div>
	);
}
