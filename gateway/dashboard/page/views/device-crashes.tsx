/** The crashes of one device, the latest first: what it was, where in the firmware, and what it traced before. */

import { useEffect } from "preact/hooks";
import type { CrashKind } from "../../../../device/protocol/messages.js";
import { useApp, useIsLive } from "../app/hooks.js";
import type { PastCrash } from "../model/messages.js";
import { duration } from "../model/words.js";
import { CopyButton } from "../parts/copy-button.js";

const kindWords: Readonly<Record<CrashKind, string>> = {
	exception: "Uncaught exception",
	rejection: "Unhandled rejection",
	out_of_memory: "Out of memory",
	watchdog: "Watchdog",
	panic: "Panic",
	brown_out: "Brown-out",
	unknown: "Unknown end",
};

export function DeviceCrashes({ deviceKey }: { deviceKey: string }) {
	const { crashes } = useApp();
	const isLive = useIsLive();
	useEffect(() => {
		if (isLive) void crashes.read(deviceKey);
	}, [crashes, deviceKey, isLive]);
	const list = crashes.of(deviceKey);
	return (
		<section class="panel crashes" aria-label="Crashes">
			<h2>Crashes</h2>
			{!list || list.length === 0 ? (
				<p class="hint">{list ? "It has told of none." : "Looking for them…"}</p>
			) : (
				<ol class="history" aria-label="Crashes, the latest first">
					{list.map((crash) => (
						<PastCrashItem key={crash.id} crash={crash} />
					))}
				</ol>
			)}
		</section>
	);
}

function PastCrashItem({ crash }: { crash: PastCrash }) {
	const { kind, message, file, line, stack, version, uptimeSeconds, trace, at } = crash;
	return (
		<li class="failed">
			<time dateTime={at}>
				{new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })}
			</time>
			<span>
				<b>{kindWords[kind]}</b> on {version ?? "an unknown version"}, after {duration(uptimeSeconds)}
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
