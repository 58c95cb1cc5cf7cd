/** Device page: header and one of four tabs, selected by the address. */

import { useEffect } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { capital } from "../../../api/client/words.js";
import { type DeviceTab, deviceAddress, deviceTabs } from "../app/addresses.js";
import { useApp, useDevice, useIsLive, useTitle, useTopic } from "../app/hooks.js";
import { Inputs, LightCard } from "./device-controls.js";
import { DeviceEvents } from "./device-events.js";
import { Facts } from "./device-facts.js";
import { DeviceHead } from "./device-head.js";
import { DeviceLog } from "./device-log.js";
import { DevicePlots } from "./device-plots.js";
import { DeviceSettings } from "./device-settings.js";
import { DeviceUpdate } from "./device-update.js";
import { BeforePanels } from "./replace-device.js";

export function DeviceView({ deviceKey, tab }: { deviceKey: string; tab: DeviceTab }) {
	const isLive = useIsLive();
	const entry = useDevice(deviceKey);
	useHistoryReload(deviceKey, entry);
	useTitle(entry?.session.name ?? deviceKey);
	if (!entry) return <Unknown deviceKey={deviceKey} />;
	return (
		<div class={`device ${isLive && entry.session.connected ? "" : "stale"}`}>
			<DeviceHead entry={entry} tab={tab} />
			<nav class="tabs" aria-label="Parts of this page">
				{deviceTabs.map((name) => (
					<a
						key={name}
						href={deviceAddress(deviceKey, name)}
						aria-current={name === tab ? "page" : undefined}
					>
						{capital(name)}
					</a>
				))}
			</nav>
			<div key={tab} class="tab">
				<TabContent tab={tab} entry={entry} />
			</div>
		</div>
	);
}

function TabContent({ tab, entry }: { tab: DeviceTab; entry: Entry }) {
	const app = useTopic(`record ${entry.key}`);
	const { deviceSection: Section } = app;
	const past = app.history(entry.key);
	const { key, session, state } = entry;
	const isDiagnostics = tab === "diagnostics";
	const log = isDiagnostics && (
		<>
			<DeviceLog entry={entry} />
			<BeforePanels deviceKey={key} />
		</>
	);
	if (!state || session.deviceId === null)
		return (
			<>
				<p class="empty">No report yet. A device reports within seconds of connecting.</p>
				{log}
			</>
		);
	if (tab === "firmware") return <DeviceUpdate entry={entry} />;
	if (tab === "settings") return <DeviceSettings entry={entry} state={state} />;
	// The history would move what is shown before it.
	if (isDiagnostics && !past.value && past.problem === "") return <p class="empty">Loading…</p>;
	return (
		<>
			{isDiagnostics ? (
				<>
					<Facts entry={entry} state={state} />
					<Inputs entry={entry} state={state} />
					<DeviceEvents deviceKey={key} />
					<DevicePlots entry={entry} />
				</>
			) : (
				<LightCard entry={entry} state={state} />
			)}
			{Section && <Section entry={entry} />}
			{log}
		</>
	);
}

const pastEveryMs = 60_000;

/** Loads the gateway's records of a device, and reloads them when events may have been added. */
function useHistoryReload(key: string, entry: Entry | undefined) {
	const known = useApp().history(key);
	const isLive = useIsLive();
	const isReported = Boolean(entry?.state);
	const { sessionId, connected, metadata } = entry?.session ?? {};
	// Each dependency indicates a possible new event.
	useEffect(() => {
		if (!isLive || !isReported) return;
		void known.refresh();
		const timer = setInterval(() => void known.refresh(), pastEveryMs);
		return () => clearInterval(timer);
	}, [known, isLive, isReported, sessionId, connected, metadata?.otaStatus]);
}

function Unknown({ deviceKey }: { deviceKey: string }) {
	const { linkState } = useApp();
	if (linkState.name !== "live")
		return (
			<p class="empty" role="status">
				Loading {deviceKey}…
			</p>
		);
	return (
		<div class="empty">
			<h1>Device not found: {deviceKey}</h1>
			<p>It never connected to this gateway, was forgotten or replaced, or was renamed.</p>
			<p>
				<a href="#/">All devices</a>
			</p>
		</div>
	);
}
