/** One device: its state, controls, health and messages. */

import { useEffect, useRef } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { when } from "../../../api/client/words.js";
import { topics } from "../app/app.js";
import { announceAddress, useApp, useFollowedDevice, useIsLive, useTitle, useTopic } from "../app/hooks.js";
import { Action, Outcome } from "../parts/controls.js";
import { Presence, SafeMode, Signal } from "../parts/presence.js";
import { Ring, ringText } from "../parts/ring.js";
import { DeviceControls, Inputs } from "./device-controls.js";
import { DeviceCrashes } from "./device-crashes.js";
import { Facts } from "./device-facts.js";
import { DeviceLabel } from "./device-label.js";
import { DeviceLog } from "./device-log.js";
import { DevicePlots } from "./device-plots.js";
import { DeviceSettings } from "./device-settings.js";
import { DeviceTrace } from "./device-trace.js";
import { DeviceUpdate } from "./device-update.js";

export function DeviceView({ deviceKey }: { deviceKey: string }) {
	const isLive = useIsLive();
	const { deviceSection: Section } = useApp();
	const entry = useFollowedDevice(deviceKey);
	const known = useKnownPast(deviceKey, entry);
	useTitle(entry?.session.name ?? deviceKey);
	if (!entry) return <Unknown deviceKey={deviceKey} />;
	return (
		<div class={`device ${isLive && entry.session.connected ? "" : "stale"}`}>
			<Head entry={entry} />
			{entry.state && entry.session.deviceId !== null ? (
				<>
					<DeviceControls entry={entry} state={entry.state} />
					<Inputs entry={entry} state={entry.state} />
					{Section && <Section entry={entry} />}
					<DevicePlots entry={entry} known={known} />
					<DeviceUpdate entry={entry} details={known?.details} />
					<Facts entry={entry} state={entry.state} details={known?.details} />
					{entry.session.features.includes("settings") && <DeviceSettings entry={entry} />}
					<DeviceCrashes details={known?.details} />
					<DeviceTrace entry={entry} />
				</>
			) : (
				<p class="empty">It has not reported yet; a device does so within seconds of connecting.</p>
			)}
			<DeviceLog deviceKey={deviceKey} />
		</div>
	);
}

/** The gateway's step of the history. */
const pastEveryMs = 5 * 60_000;

/** The gateway's records of a device; read again when something may have been added. */
function useKnownPast(key: string, entry: Entry | undefined) {
	const { details } = useApp();
	useTopic(topics.record(key));
	const isLive = useIsLive();
	const starts = useStarts(entry);
	const isReported = Boolean(entry?.state);
	const { sessionId, connected, metadata } = entry?.session ?? {};
	// Runs again for each dependency that may mean more to read.
	useEffect(() => {
		if (!isLive || !isReported) return;
		void details.read(key);
		const timer = setInterval(() => void details.read(key), pastEveryMs);
		return () => clearInterval(timer);
	}, [details, key, isLive, isReported, starts, sessionId, connected, metadata?.otaStatus]);
	return details.of(key);
}

/** Changes with each restart, which a lower uptime shows. */
function useStarts(entry: Entry | undefined): number {
	const seen = useRef({ uptimeSeconds: 0, count: 0 });
	const uptimeSeconds = entry?.state?.health.uptime_seconds ?? 0;
	if (uptimeSeconds < seen.current.uptimeSeconds) seen.current.count += 1;
	seen.current.uptimeSeconds = uptimeSeconds;
	return seen.current.count;
}

function Head({ entry }: { entry: Entry }) {
	const { key, session, state } = entry;
	const isLive = useIsLive();
	const audio = state?.peripherals.audio;
	const canIdentify = session.features.includes("identify");
	const canRestart = session.features.includes("restart");
	return (
		<section class="panel hero" aria-label="Overview">
			<Ring entry={entry} size="large">
				{audio && session.connected && isLive && (
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
				<DeviceLabel entry={entry} />
				<p class="facts">
					<span>{session.model ?? "Model not known"}</span>
					{session.firmwareVersion !== null && <span>Firmware {session.firmwareVersion}</span>}
					<Signal entry={entry} />
				</p>
				<p>
					<Presence entry={entry} />
				</p>
				<AsOf entry={entry} />
				<p class="hint">Ring: {isLive ? ringText(entry) : "not known"}</p>
				<SafeMode entry={entry} withHelp />
				<div class="actions">
					{canIdentify && (
						<Action deviceKey={key} name="identify" toAsk={() => ({ command: "identify" })}>
							Identify
						</Action>
					)}
					<Action deviceKey={key} name="query_state" toAsk={() => ({ command: "query_state" })}>
						Ask for a report
					</Action>
					<Action deviceKey={key} name="boot_device" toAsk={() => ({ command: "boot_device" })}>
						Reconnect
					</Action>
					<a class="button" href={announceAddress({ keys: new Set([key]) })}>
						Announce…
					</a>
					{canRestart && (
						<Action deviceKey={key} name="restart" toAsk={() => ({ command: "restart" })}>
							Restart
						</Action>
					)}
				</div>
				<div class="outcomes">
					{canIdentify && <Outcome deviceKey={key} name="identify" />}
					<Outcome deviceKey={key} name="query_state" />
					<Outcome deviceKey={key} name="boot_device" />
					{canRestart && <Outcome deviceKey={key} name="restart" />}
				</div>
			</div>
		</section>
	);
}

/** The time of the shown values, if they may be outdated. */
function AsOf({ entry: { session, heardAt } }: { entry: Entry }) {
	const isLive = useIsLive();
	if (isLive && session.connected) return null;
	const why = isLive ? "The device is away" : "The gateway cannot be reached";
	return (
		<p class="as-of">
			{why}: all values are from <time dateTime={new Date(heardAt).toISOString()}>{when(heardAt)}</time>.
		</p>
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
