/** History of a device as recorded by the gateway: crashes, restarts, versions and updates, the latest first. */

import { duration } from "../../../api/client/words.js";
import type { DeviceDetails, OwnUpdate, PastCrash } from "../../../api/device.js";
import { type OtaStatus, updateWords } from "../../../api/statuses.js";
import { useHistory } from "../app/hooks.js";
import { markText } from "../model/health-text.js";
import { CopyButton } from "../parts/copy-button.js";
import { History, type PastEvent } from "../parts/history.js";
import { Panel } from "../parts/panel.js";

export function DeviceEvents({ deviceKey }: { deviceKey: string }) {
	const past = useHistory(deviceKey);
	const items = past ? eventsOf(past.details) : [];
	return (
		<Panel title="History" look="past-panel">
			{items.length === 0 && <p class="hint">{past ? "No events recorded yet." : "Loading…"}</p>}
			<History label="History, the latest first" items={items} />
		</Panel>
	);
}

/** Merges the events of a device, the latest first. */
export function eventsOf({
	crashes = [],
	resets = [],
	versions = [],
	updates = [],
}: Partial<DeviceDetails>): readonly PastEvent[] {
	return [
		...crashes.map(crashEvent),
		...resets.map(restartEvent),
		...versions.map(({ at, version }) => ({ at, text: `First start of ${version}` })),
		...updates.map(updateEvent),
	].sort((a, b) => new Date(b.at).getTime() - new Date(a.at).getTime());
}

function restartEvent({ at, reason }: DeviceDetails["resets"][number]): PastEvent {
	const isFailure = /PANIC|WDT|BROWNOUT|GLITCH|LOCKUP/.test(reason);
	const text = markText({ at, kind: "restart", reason, version: null });
	return { at, text, tone: isFailure ? "failed" : undefined };
}

const tones: Readonly<Partial<Record<OtaStatus, PastEvent["tone"]>>> = {
	updated: "done",
	rolled_back: "failed",
	failed: "failed",
};

/** Outcome of an update, with the reason of a rollback. */
export function updateEvent({ status, version, from, reason, startedAt }: OwnUpdate): PastEvent {
	return {
		at: startedAt,
		tone: tones[status],
		text: `${from ?? "?"} → ${version ?? "?"} ${updateWords[status]}`,
		more: reason && <p>{reason}</p>,
	};
}

/** Kind and location of a crash, with stack and trace. */
function crashEvent(crash: PastCrash): PastEvent {
	const { kind, message, file, line, stack, version, uptimeSeconds, trace, at } = crash;
	const what = markText({ at, kind: "crash", reason: kind, version });
	return {
		at,
		tone: "failed",
		text: `${what} on ${version ?? "an unknown version"}, after ${duration(uptimeSeconds)}`,
		more: (
			<>
				<p>{message}</p>
				{file !== null && (
					<p>
						<code>
							{file}:{line}
						</code>
					</p>
				)}
				{(stack || trace) && (
					<details>
						<summary>Stack and last lines</summary>
						<pre>{[stack, trace].filter(Boolean).join("\n\n")}</pre>
						<CopyButton text={() => JSON.stringify(crash, null, 2)} />
					</details>
				)}
			</>
		),
	};
}
