/** Crashes of all devices by cause, the latest first, with counts by version. */

import { age, plural } from "../../../api/client/words.js";
import type { CrashCause } from "../../../api/crash-causes.js";
import { deviceAddress, useNow, useTopic } from "../app/hooks.js";
import { crashWords } from "../model/health-text.js";
import { whereText } from "../model/issues.js";
import { Panel } from "../parts/panel.js";
import { refreshMs } from "./issues-link.js";

const shownAtMost = 50;
const samplesAtMost = 5;

export function CrashCauses() {
	const { crashes } = useTopic("issues");
	const now = useNow(refreshMs);
	const causes = crashes.value?.causes ?? [];
	if (causes.length === 0) return null;
	return (
		<details class="housekeeping">
			<summary>Crashes by cause: {causes.length.toLocaleString("en")}</summary>
			{causes.slice(0, shownAtMost).map((cause) => (
				<OneCause key={cause.id} cause={cause} now={now} />
			))}
			{causes.length > shownAtMost && <p class="hint">Showing the latest {shownAtMost}.</p>}
		</details>
	);
}

function OneCause({ cause, now }: { readonly cause: CrashCause; readonly now: number }) {
	const { kind, count, deviceCount, first, last, versions, samples } = cause;
	const why = whereText(cause);
	return (
		<Panel
			title={crashWords[kind]}
			label={`Cause: ${why}`}
			look="issue"
			hint={<time dateTime={last.at}>{age(now - Date.parse(last.at))}</time>}
		>
			<p>{why}</p>
			<p class="hint">
				{plural(count, "time")} on {plural(deviceCount, "device")}, first on{" "}
				{first.version ?? "an unknown version"}, {age(now - Date.parse(first.at))}
			</p>
			<ul class="names">
				{versions.map(({ version, count }) => (
					<li key={version}>
						{version ?? "An unknown version"}: {count.toLocaleString("en")}
					</li>
				))}
			</ul>
			<ul class="names">
				{samples.slice(0, samplesAtMost).map(({ deviceId }) => (
					<li key={deviceId}>
						<a href={deviceAddress(deviceId)}>{deviceId}</a>
					</li>
				))}
			</ul>
		</Panel>
	);
}
