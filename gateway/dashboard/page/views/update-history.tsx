/** How updates ended, the latest first: above all which came back rolled back, and why. */

import { deviceAddress } from "../app/hooks.js";
import type { OtaStatus, PastUpdate } from "../model/messages.js";
import { when } from "../model/words.js";

const words: Readonly<Record<OtaStatus, string>> = {
	idle: "",
	pending: "asked for",
	downloading: "downloading",
	rebooting: "restarting",
	updated: "updated",
	rolled_back: "rolled back",
	failed: "failed",
};

export function History({ updates, withDevice }: { updates: readonly PastUpdate[]; withDevice?: boolean }) {
	if (updates.length === 0) return withDevice ? <p class="hint">No device has been updated yet.</p> : null;
	return (
		<ol class="history" aria-label="Former updates">
			{updates.map((update) => (
				<li key={`${update.deviceId} ${update.startedAt}`} class={update.status}>
					<time dateTime={new Date(update.startedAt).toISOString()}>{when(update.startedAt)}</time>
					<span>
						{withDevice && <a href={deviceAddress(update.deviceId)}>{update.deviceId}</a>}{" "}
						{update.from ?? "?"} → {update.version ?? "?"} <b>{words[update.status]}</b>
					</span>
					{update.reason && <p>{update.reason}</p>}
				</li>
			))}
		</ol>
	);
}
