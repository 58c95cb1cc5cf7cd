/** How updates ended, the latest first, with the reasons of rollbacks. */

import { when } from "../../../api/client/words.js";
import { updateWords } from "../../../api/statuses.js";
import type { OwnUpdate } from "../model/responses.js";
import { Bounded } from "../parts/bounded.js";
import { DeviceLink } from "./device-link.js";

/** Of one device, or of all. */
interface Shown extends Pick<OwnUpdate, "status"> {
	readonly deviceId?: string;
	readonly version?: string | null;
	readonly from?: string | null;
	readonly reason?: string | null;
	/** ISO 8601, or milliseconds since 1970. */
	readonly startedAt: string | number;
}

export function History({ updates, withDevice }: { updates: readonly Shown[]; withDevice?: boolean }) {
	if (updates.length === 0) return withDevice ? <p class="hint">No device has been updated yet.</p> : null;
	return (
		<Bounded label="Previous updates" items={updates}>
			{({ deviceId, status, version, from, reason, startedAt }) => (
				<li key={`${deviceId} ${startedAt}`} class={status}>
					<time dateTime={new Date(startedAt).toISOString()}>{when(startedAt)}</time>
					<span>
						{withDevice && deviceId !== undefined && <DeviceLink deviceKey={deviceId} />} {from ?? "?"} →{" "}
						{version ?? "?"} <b>{updateWords[status]}</b>
					</span>
					{reason && <p>{reason}</p>}
				</li>
			)}
		</Bounded>
	);
}
