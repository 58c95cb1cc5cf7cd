/** How updates ended, the latest first, with the reasons of rollbacks. */

import type { OwnUpdate } from "../../../api/device.js";
import { updateWords } from "../../../api/statuses.js";
import { type Happening, History } from "../parts/history.js";
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

export function UpdateHistory({ updates }: { updates: readonly Shown[] }) {
	return <History label="Previous updates" items={updates.map(ofUpdate)} />;
}

export function ofUpdate({ deviceId, status, version, from, reason, startedAt }: Shown): Happening {
	return {
		at: startedAt,
		look: status,
		text: (
			<>
				{deviceId !== undefined && <DeviceLink deviceKey={deviceId} />} {from ?? "?"} → {version ?? "?"}{" "}
				<b>{updateWords[status]}</b>
			</>
		),
		more: reason && <p>{reason}</p>,
	};
}
