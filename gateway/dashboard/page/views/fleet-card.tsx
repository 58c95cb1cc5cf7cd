/** A device as a card: its ring as the device shows it, and its main facts. */

import { crashText, hasFailed, isUpdating } from "../../../api/client/words.js";
import { deviceAddress, useFollowedDevice, useTopic } from "../app/hooks.js";
import { nameOf } from "../model/filter.js";
import { Presence, SafeMode, Signal, UpdateState } from "../parts/presence.js";
import { Ring } from "../parts/ring.js";
import { Identify, SelectBox } from "./fleet-actions.js";

export function Card({ deviceKey }: { deviceKey: string }) {
	const entry = useFollowedDevice(deviceKey);
	const { selection } = useTopic("selection");
	if (!entry) return null;
	const { session, vitals } = entry;
	const { metadata, name, room } = session;
	const isNews = isUpdating(metadata) || hasFailed(metadata);
	return (
		<article
			class={`card ${session.connected ? "" : "away"} ${selection.keys.has(deviceKey) ? "selected" : ""}`}
		>
			<Ring entry={entry} size="small">
				{isUpdating(metadata) && <span>{metadata.otaPercent ?? 0}%</span>}
			</Ring>
			<div class="card-text">
				<h2>
					<a href={deviceAddress(deviceKey)}>{nameOf(entry)}</a>
				</h2>
				<p class="facts">
					{name !== undefined && <span>{deviceKey}</span>}
					{room !== undefined && <span class="room">{room}</span>}
					{name === undefined && <span>{session.model ?? "Model not known"}</span>}
					{session.firmwareVersion !== null && <span>{session.firmwareVersion}</span>}
					<SafeMode entry={entry} />
				</p>
				<p>
					<Presence entry={entry} />
				</p>
				{isNews ? (
					<UpdateState metadata={metadata} />
				) : (
					<p class="facts">
						<Signal entry={entry} />
						{session.crashCount !== undefined ? (
							<span class="crashed">{crashText(session.crashCount, session.firmwareVersion)}</span>
						) : (
							session.connected && vitals.volume !== null && <span>Volume {vitals.volume}</span>
						)}
					</p>
				)}
			</div>
			<SelectBox deviceKey={deviceKey} />
			<Identify deviceKey={deviceKey} />
		</article>
	);
}
