/** How updates ended, the latest first, with the reasons of rollbacks. */

import type { OwnUpdate } from "../../../api/device.js";
import { updateWords } from "../../../api/statuses.js";
import { type Happening, History } from "../parts/history.js";

export function UpdateHistory({ updates }: { updates: readonly OwnUpdate[] }) {
	return <History label="Previous updates" items={updates.map(ofUpdate)} />;
}

export function ofUpdate({ status, version, from, reason, startedAt }: OwnUpdate): Happening {
	return {
		at: startedAt,
		look: status,
		text: (
			<>
				{from ?? "?"} → {version ?? "?"} <b>{updateWords[status]}</b>
			</>
		),
		more: reason && <p>{reason}</p>,
	};
}
