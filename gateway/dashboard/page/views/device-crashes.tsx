/** The crashes of one device, the latest first: kind, place in the firmware, and the trace before it. */

import { duration } from "../../../api/client/words.js";
import { usePast } from "../app/hooks.js";
import { crashWords } from "../model/health-words.js";
import type { PastCrash } from "../model/responses.js";
import { CopyButton } from "../parts/copy-button.js";
import { type Happening, History } from "../parts/history.js";
import { Panel } from "../parts/panel.js";

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
