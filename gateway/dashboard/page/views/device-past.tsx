/** What has happened to one device, as the gateway has recorded it: crashes, restarts and versions, the latest first. */

import { duration } from "../../../api/client/words.js";
import type { PastCrash } from "../../../api/device.js";
import { resetText } from "../../../api/statuses.js";
import { usePast } from "../app/hooks.js";
import { crashWords } from "../model/health-words.js";
import { CopyButton } from "../parts/copy-button.js";
import { type Happening, History } from "../parts/history.js";
import { Panel } from "../parts/panel.js";
import { capital } from "../parts/presence.js";

/** Kind, place in the firmware, and the trace before it. */
export function DeviceCrashes({ deviceKey }: { deviceKey: string }) {
	const past = usePast(deviceKey);
	const crashes = past?.details.crashes.map(happeningOf).reverse() ?? [];
	return (
		<Panel title="Crashes" look="crashes">
			{crashes.length === 0 && <p class="hint">{past ? "It has reported none." : "Looking for them…"}</p>}
			<History label="Crashes, the latest first" items={crashes} />
		</Panel>
	);
}

function happeningOf(crash: PastCrash): Happening {
	const { kind, message, file, line, stack, version, uptimeSeconds, trace, at } = crash;
	return {
		at,
		look: "failed",
		text: (
			<>
				<b>{crashWords[kind]}</b> on {version ?? "an unknown version"}, after {duration(uptimeSeconds)}
			</>
		),
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

export function Past({ deviceKey }: { deviceKey: string }) {
	const past = usePast(deviceKey);
	if (!past) return null;
	const { resets, versions } = past.details;
	const restarts = resets.map(({ at, reason }) => {
		const isFailure = /PANIC|WDT|BROWNOUT|GLITCH|LOCKUP/.test(reason);
		return { at, text: capital(resetText(reason)), look: isFailure ? "failed" : "" };
	});
	const installed = versions.map(({ at, version }) => ({ at, text: version }));
	return (
		<>
			<Panel title="Restarts">
				<History label="Restarts, the latest first" items={restarts.reverse()} />
			</Panel>
			<Panel title="Versions">
				<History label="Versions, the latest first" items={installed.reverse()} />
			</Panel>
		</>
	);
}
