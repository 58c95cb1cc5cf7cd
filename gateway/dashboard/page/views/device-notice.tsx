/** What a person should know of a device now, the most urgent alone, in a place that is always there, so that nothing moves. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { ask } from "../../../api/client/request.js";
import { duration, hasFailed, isUpdating, when } from "../../../api/client/words.js";
import { resetText } from "../../../api/statuses.js";
import { type DeviceTab, deviceAddress, useApp, useIsLive } from "../app/hooks.js";
import { crashWords } from "../model/health-words.js";
import type { DeviceDetails } from "../model/responses.js";
import { UpdateState } from "../parts/presence.js";
import { TrialTime } from "./device-settings.js";

interface NoticeProps {
	readonly entry: Entry;
	/** Undefined: not read yet. */
	readonly details: DeviceDetails | undefined;
}

export function DeviceNotice({ entry, details }: NoticeProps) {
	const { settings } = useApp();
	const isLive = useIsLive();
	const { key, session, state, vitals } = entry;
	const { metadata, connected } = session;
	const change = settings.get(key);
	const unseen = (kind: "crashed" | "rolled_back") =>
		details?.attention?.find((one) => one.kind === kind && !one.seen);
	const crash = unseen("crashed") && details?.crashes.at(-1);
	if (!isLive) return <AsOf entry={entry} why="The gateway cannot be reached" />;
	if (settings.isPending(key))
		return (
			<Notice tone="busy" link={<To entry={entry} tab="settings" />}>
				<strong role="status">Trying new settings</strong> It restarts with them, and may be away for a
				moment. {change?.endsAt !== undefined && <TrialTime change={change} />}
			</Notice>
		);
	if (isUpdating(metadata) && (connected || metadata.otaStatus === "rebooting"))
		return (
			<Notice tone="busy" link={<To entry={entry} tab="firmware" />}>
				<UpdateState metadata={metadata} />
			</Notice>
		);
	if (crash)
		return (
			<Notice
				tone="bad"
				link={
					<>
						<To entry={entry} tab="history">
							What happened
						</To>
						<Seen entry={entry} kind="crashed" since={unseen("crashed")?.since} />
					</>
				}
			>
				<strong>
					{crashWords[crash.kind]}, {when(crash.at)}
				</strong>{" "}
				{crash.message}
			</Notice>
		);
	if (!connected) return <AsOf entry={entry} why="The device is away" />;
	if (change?.status === "failed" || change?.status === "unknown")
		return (
			<Notice
				tone="warn"
				link={
					<button type="button" class="quiet small" onClick={() => settings.dismiss(key)}>
						Dismiss
					</button>
				}
			>
				<strong>New settings were not kept.</strong> {change.reason}
			</Notice>
		);
	if (hasFailed(metadata) && (metadata.otaStatus === "failed" || unseen("rolled_back")))
		return (
			<Notice
				tone="bad"
				link={
					<>
						<To entry={entry} tab="firmware" />
						{unseen("rolled_back") && (
							<Seen entry={entry} kind="rolled_back" since={unseen("rolled_back")?.since} />
						)}
					</>
				}
			>
				<UpdateState metadata={metadata} withReason />
			</Notice>
		);
	if (vitals.safeMode)
		return (
			<Notice tone="warn" link={<To entry={entry} tab="firmware" />}>
				<span class="safe-mode">
					<strong>Safe mode.</strong> Its last three starts failed, so it runs without sound, motor and
					sensors. Update it, or restart it to try again.
				</span>
			</Notice>
		);
	if (!state) return <Notice tone="quiet">It has not reported yet.</Notice>;
	return (
		<Notice tone="quiet">
			Running for {duration(state.health.uptime_seconds)}; last start: {resetText(state.health.reset_reason)}.
		</Notice>
	);
}

interface NoticeLookProps {
	readonly tone: "quiet" | "busy" | "warn" | "bad";
	/** What to do about it, at its end. */
	readonly link?: ComponentChildren;
	readonly children: ComponentChildren;
}

function Notice({ tone, link, children }: NoticeLookProps) {
	return (
		<div class={`device-notice ${tone}`}>
			<div class="notice-text">{children}</div>
			{link && <div class="actions">{link}</div>}
		</div>
	);
}

/** The time of the shown values, which may be outdated. */
function AsOf({ entry: { heardAt }, why }: { entry: Entry; why: string }) {
	return (
		<Notice tone="warn">
			<span class="as-of">
				{why}: all values are from <time dateTime={new Date(heardAt).toISOString()}>{when(heardAt)}</time>.
			</span>
		</Notice>
	);
}

const tabWords = { history: "History", firmware: "Firmware", settings: "Settings" };

interface ToProps {
	readonly entry: Entry;
	readonly tab: DeviceTab & keyof typeof tabWords;
	readonly children?: string;
}

function To({ entry, tab, children = tabWords[tab] }: ToProps) {
	return <a href={deviceAddress(entry.key, tab)}>{children}</a>;
}

interface SeenProps {
	readonly entry: Entry;
	readonly kind: "crashed" | "rolled_back";
	/** ISO 8601, as it was shown: what comes later stays unseen. */
	readonly since: string | null | undefined;
}

/** For all people; the next such event shows it again. */
function Seen({ entry: { key }, kind, since }: SeenProps) {
	const { details } = useApp();
	const [problem, setProblem] = useState("");
	const mark = async () => {
		try {
			const items = [{ kind, id: key, ...(since && { since }) }];
			await ask("api/attention/seen", { method: "POST", body: { items } });
			await details.read(key);
		} catch (error) {
			setProblem(error instanceof Error ? error.message : String(error));
		}
	};
	return (
		<>
			<button type="button" class="small" onClick={() => void mark()}>
				Seen
			</button>
			<span class="problem" role="alert">
				{problem}
			</span>
		</>
	);
}
