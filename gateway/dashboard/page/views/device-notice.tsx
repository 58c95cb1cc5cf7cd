/** Most urgent fault or activity of a device; renders nothing for a healthy one. */

import type { Entry } from "../../../api/client/fleet.js";
import { isUpdating, timeLeft, when } from "../../../api/client/words.js";
import { faultsOf } from "../../../api/faults.js";
import { type DeviceTab, deviceAddress } from "../app/addresses.js";
import { useApp, useGatewayAbsence, useHistory, useNow } from "../app/hooks.js";
import { crashWords } from "../model/health-text.js";
import { type Attempt, newSettings } from "../model/pending-commands.js";
import { Button } from "../parts/button.js";
import { CopyButton } from "../parts/copy-button.js";
import { Notice } from "../parts/notice.js";
import { UpdateState } from "../parts/presence.js";
import { dismiss } from "./issues.js";
import { ReplaceButton } from "./replace-device.js";

/** @param tab tab below, which shows updates or settings errors itself */
export function DeviceNotice({ entry, tab }: { entry: Entry; tab: DeviceTab }) {
	const { pendingCommands } = useApp();
	const absence = useGatewayAbsence();
	const { key, session, state, vitals, heardAt, attention } = entry;
	const { metadata, connected } = session;
	const past = useHistory(key);
	const change = pendingCommands.get(key, newSettings.command);
	const isTrying = pendingCommands.isPending(key, newSettings.command);
	const unseen = (kind: "crashed" | "rolled_back") =>
		attention.find((issue) => issue.kind === kind && !issue.seen);
	const [crashed, rolledBack] = [unseen("crashed"), unseen("rolled_back")];
	const crash = crashed && past?.details.crashes.at(-1);
	/** @param issue adds a button that dismisses the issue */
	const link = (tab: DeviceTab, text: string, issue?: typeof crashed) => (
		<>
			<a href={deviceAddress(key, tab)}>{text}</a>
			{issue && (
				<Button look="small" isChange onClick={() => dismiss([{ ...issue, id: key }])}>
					Dismiss
				</Button>
			)}
		</>
	);
	const replace = !absence && !connected && <ReplaceButton entry={entry} />;
	if (absence || (!connected && !isTrying && !crashed && metadata.otaStatus !== "rebooting"))
		return (
			<Notice tone="warn" actions={replace}>
				{absence ? `Gateway ${absence}. Showing values from` : "Offline since"}{" "}
				<time dateTime={new Date(heardAt).toISOString()}>{when(heardAt)}</time>.
				{!absence && " Showing last known values."}
			</Notice>
		);
	if (isTrying)
		return (
			<Notice tone="busy" actions={link("settings", "Settings")}>
				<strong role="status">Trying new settings</strong> The device restarts and may be offline briefly.{" "}
				{change?.endsAt !== undefined && <TrialTime change={change} />}
			</Notice>
		);
	if (isUpdating(metadata))
		return tab === "firmware" ? null : (
			<Notice tone="busy" actions={link("firmware", "Firmware")}>
				<UpdateState metadata={metadata} />
			</Notice>
		);
	if (crashed)
		return (
			<Notice
				tone="bad"
				actions={
					<>
						{link("diagnostics", "Diagnostics", crashed)}
						{replace}
					</>
				}
			>
				<strong>
					{crash ? crashWords[crash.kind] : "Crash"}, {when(crash?.at ?? crashed.since ?? heardAt)}
				</strong>
				<p class="message">{crash?.message ?? "…"}</p>
			</Notice>
		);
	if (change?.reason && tab !== "settings")
		return (
			<Notice tone="warn" actions={link("settings", "Settings")}>
				<strong>New settings failed. Previous settings restored.</strong>
			</Notice>
		);
	if (metadata.otaStatus === "failed" || rolledBack)
		return (
			<Notice tone="bad" actions={link("firmware", "Firmware", rolledBack)}>
				<UpdateState metadata={metadata} withReason />
			</Notice>
		);
	if (vitals.safeMode)
		return (
			<Notice tone="warn" actions={link("firmware", "Firmware")}>
				<strong>Safe mode.</strong> Three starts failed. The device runs without sound, haptics and sensors.
				Update it, or restart it to try again.
			</Notice>
		);
	const faults = state ? faultsOf(state.peripherals) : [];
	if (faults.length === 0) return null;
	const steps = faults.flatMap((fault) => fault.steps).join(" ");
	const command = `npm run bring-up -- ${session.model?.toLowerCase()} ${steps}`;
	return (
		<Notice tone="warn">
			<strong>{faults.map(({ title }) => title).join(", ")}.</strong>{" "}
			{[...new Set(faults.map(({ advice }) => advice))].join(" ")}
			<details>
				<summary>Details</summary>
				<p>{faults.map(({ sentence }) => sentence).join(" ")}</p>
				<p>
					To diagnose it, connect the board by USB and run <code>{command}</code> in the project folder.{" "}
					<CopyButton text={() => command} label="Copy command" />
				</p>
			</details>
		</Notice>
	);
}

/** Countdown of a settings trial, outside the live region of screen readers. */
function TrialTime({ change: { endsAt = 0 } }: { change: Attempt }) {
	const secondsLeft = Math.ceil((endsAt - useNow(1000)) / 1000);
	return (
		<span class="hint">
			{secondsLeft > 0
				? `${timeLeft(secondsLeft)} left to reach a gateway`
				: "time is up, restoring previous settings"}
		</span>
	);
}
