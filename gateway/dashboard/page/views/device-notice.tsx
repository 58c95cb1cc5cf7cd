/** What a person should know of a device now, the most urgent alone, in a place that is always there, so that nothing moves. */

import type { ComponentChildren } from "preact";
import type { Entry } from "../../../api/client/fleet.js";
import { duration, isUpdating, when } from "../../../api/client/words.js";
import { faultsOf } from "../../../api/faults.js";
import { resetText } from "../../../api/statuses.js";
import { type DeviceTab, deviceAddress, useGatewayAbsence, usePast, useTopic } from "../app/hooks.js";
import { newSettings } from "../model/asks.js";
import { crashWords } from "../model/health-words.js";
import { Button } from "../parts/button.js";
import { CopyButton } from "../parts/copy-button.js";
import { UpdateState } from "../parts/presence.js";
import { markSeen } from "./attention.js";
import { TrialTime } from "./device-settings.js";

export function DeviceNotice({ entry }: { entry: Entry }) {
	const { asks, firmware } = useTopic("firmware");
	const absence = useGatewayAbsence();
	const { key, session, state, vitals, heardAt, attention } = entry;
	const { metadata, connected } = session;
	const past = usePast(key);
	const change = asks.get(key, newSettings.command);
	const isTrying = asks.isPending(key, newSettings.command);
	const unseen = (kind: SeenProps["kind"]) => attention.find((one) => one.kind === kind && !one.seen);
	const [crashed, rolledBack] = [unseen("crashed"), unseen("rolled_back")];
	const crash = crashed && past?.details.crashes.at(-1);
	const to = (tab: DeviceTab, text: string) => <a href={deviceAddress(key, tab)}>{text}</a>;
	if (absence || (!connected && !isTrying && !crash && metadata.otaStatus !== "rebooting"))
		return (
			<Notice tone="warn as-of">
				{absence ? `The gateway ${absence}` : "The device is away"}: all values are from{" "}
				<time dateTime={new Date(heardAt).toISOString()}>{when(heardAt)}</time>.
			</Notice>
		);
	if (isTrying)
		return (
			<Notice tone="busy" link={to("settings", "Settings")}>
				<strong role="status">Trying new settings</strong> It restarts with them, and may be away for a
				moment. {change?.endsAt !== undefined && <TrialTime change={change} />}
			</Notice>
		);
	if (isUpdating(metadata))
		return (
			<Notice tone="busy" link={to("firmware", "Firmware")}>
				<UpdateState metadata={metadata} />
			</Notice>
		);
	if (crash)
		return (
			<Notice
				tone="bad"
				link={to("history", "What happened")}
				seen={{ id: key, kind: "crashed", since: crashed.since }}
			>
				<strong>
					{crashWords[crash.kind]}, {when(crash.at)}
				</strong>{" "}
				{crash.message}
			</Notice>
		);
	if (change?.status === "failed" || change?.status === "unknown")
		return (
			<Notice
				tone="warn"
				link={
					<Button look="small" onClick={() => asks.dismiss(key, newSettings.command)}>
						Dismiss
					</Button>
				}
			>
				<strong>New settings were not kept.</strong> {change.reason}
			</Notice>
		);
	if (metadata.otaStatus === "failed" || rolledBack)
		return (
			<Notice
				tone="bad"
				link={to("firmware", "Firmware")}
				{...(rolledBack && { seen: { id: key, kind: "rolled_back", since: rolledBack.since } })}
			>
				<UpdateState metadata={metadata} withReason />
			</Notice>
		);
	if (vitals.safeMode)
		return (
			<Notice tone="warn safe-mode" link={to("firmware", "Firmware")}>
				<strong>Safe mode.</strong> Its last three starts failed, so it runs without sound, motor and sensors.
				Update it, or restart it to try again.
			</Notice>
		);
	const faults = state ? faultsOf(state.peripherals) : [];
	if (faults.length > 0) {
		const steps = faults.flatMap((fault) => fault.steps).join(" ");
		const command = `npm run bring-up -- ${session.model?.toLowerCase()} ${steps}`;
		return (
			<Notice tone="warn" link={<CopyButton text={() => command} label="Copy the command" />}>
				<strong>{faults.map(({ sentence }) => sentence).join(" ")}</strong> To find out why, connect the board
				by USB and run <code>{command}</code> in the project's folder.
			</Notice>
		);
	}
	const update = firmware.findUpdate(entry);
	return (
		<Notice tone="quiet" link={update && to("firmware", `Update to ${update.selector}`)}>
			{state
				? `Running for ${duration(state.health.uptime_seconds)}; last start: ${resetText(state.health.reset_reason)}.`
				: "Nothing is known of it yet."}
		</Notice>
	);
}

interface NoticeLookProps {
	/** Classes: quiet, busy, warn or bad, and what it is. */
	readonly tone: string;
	/** What to do about it. */
	readonly link?: ComponentChildren;
	/** It stays until a person says that it was seen. */
	readonly seen?: SeenProps;
	readonly children: ComponentChildren;
}

function Notice({ tone, link, seen, children }: NoticeLookProps) {
	return (
		<div class={`device-notice ${tone}`}>
			<div class="notice-text">{children}</div>
			{link && (
				<div class="actions">
					{link}
					{seen && (
						<Button look="small" onClick={() => markSeen([seen])}>
							Seen
						</Button>
					)}
				</div>
			)}
		</div>
	);
}

interface SeenProps {
	/** Of the device. */
	readonly id: string;
	readonly kind: "crashed" | "rolled_back";
	/** ISO 8601, as it was shown: what comes later stays unseen. */
	readonly since: string | null;
}
