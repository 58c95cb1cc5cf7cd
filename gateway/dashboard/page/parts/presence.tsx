/** Status elements shared by views: signal, state and update progress of a device. */

import type { ComponentChildren } from "preact";
import type { Entry } from "../../../api/client/fleet.js";
import {
	capital,
	crashText,
	hasFailed,
	isUpdating,
	otaText,
	signalBars,
	since,
} from "../../../api/client/words.js";
import type { OtaMetadata } from "../../../api/update.js";
import { useApp } from "../app/hooks.js";

export function isPlaying({ session, state }: Entry): boolean {
	return session.connected && state?.peripherals.audio.player_state === "playing";
}

export function Strength({ rssi }: { rssi: number | null }) {
	if (rssi === null) return null;
	return (
		<span class="signal" style={{ "--bars": `${signalBars(rssi)}` }}>
			{/* A minus sign is as wide as a digit. */}
			{`${rssi} dBm`.replace("-", "−")}
		</span>
	);
}

interface DeviceStateProps {
	readonly entry: Entry;
	/** Content for a device without a fault or activity. */
	readonly children?: ComponentChildren;
}

/** Most important state of a device: a fault or an activity. */
export function DeviceState({ entry, children = null }: DeviceStateProps) {
	const { clock } = useApp();
	const { session, vitals, state, heardAt } = entry;
	const { metadata, connected, crashCount, firmwareVersion } = session;
	if (isUpdating(metadata)) return <span class="busy">{capital(otaText(metadata))}</span>;
	if (hasFailed(metadata)) return <span class="problem">{capital(otaText(metadata))}</span>;
	if (!connected) return <>Offline since {since(heardAt, clock.now())}</>;
	if (crashCount !== undefined)
		return <span class="problem">{capital(crashText(crashCount, firmwareVersion))}</span>;
	if (vitals.safeMode) return <span class="tag warn">safe mode</span>;
	if (state?.peripherals.audio.fault) return <span class="problem">No sound</span>;
	if (firmwareVersion === null) return <span>No report yet</span>;
	if (isPlaying(entry)) return <>Playing</>;
	return <>{children}</>;
}

/** Status of a device's update; renders nothing without one. */
export function UpdateState({ metadata, withReason }: { metadata: OtaMetadata; withReason?: boolean }) {
	if (metadata.otaStatus === "idle") return null;
	return (
		<div class={`update-state ${hasFailed(metadata) ? "bad" : ""}`}>
			<span>{capital(otaText(metadata))}</span>
			{isUpdating(metadata) && <Progress percent={metadata.otaPercent} label="Update" />}
			{withReason && metadata.otaReason && <p>{metadata.otaReason}</p>}
		</div>
	);
}

interface ProgressProps {
	/** 0 to 100; null if unknown. */
	readonly percent: number | null;
	readonly label: string;
}

export function Progress({ percent, label }: ProgressProps) {
	return <progress aria-label={label} max={100} value={percent ?? undefined} />;
}
