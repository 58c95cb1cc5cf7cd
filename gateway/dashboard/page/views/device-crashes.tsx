/** The crashes of one device, the latest first: kind, place in the firmware, and the trace before it. */

import { duration, when } from "../../../api/client/words.js";
import { crashWords } from "../model/health-words.js";
import type { DeviceDetails, PastCrash } from "../model/responses.js";
import { Bounded } from "../parts/bounded.js";
import { CopyButton } from "../parts/copy-button.js";

export function DeviceCrashes({ details }: { details: DeviceDetails | undefined }) {
	return (
		<section class="panel crashes" aria-label="Crashes">
			<h2>Crashes</h2>
			{!details || details.crashes.length === 0 ? (
				<p class="hint">{details ? "It has reported none." : "Looking for them…"}</p>
			) : (
				<Bounded label="Crashes, the latest first" items={[...details.crashes].reverse()}>
					{(crash) => <PastCrashItem key={crash.id} crash={crash} />}
				</Bounded>
			)}
		</section>
	);
}

function PastCrashItem({ crash }: { crash: PastCrash }) {
	const { kind, message, file, line, stack, version, uptimeSeconds, trace, at } = crash;
	return (
		<li class="failed">
			<time dateTime={at}>{when(at)}</time>
			<span>
				<b>{crashWords[kind]}</b> on {version ?? "an unknown version"}, after {duration(uptimeSeconds)}
			</span>
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
		</li>
	);
}
