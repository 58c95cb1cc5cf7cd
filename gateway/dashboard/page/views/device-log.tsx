/** What a device said, word by word, for whoever looks for the reason of something. */

import { useEffect, useState } from "preact/hooks";
import { uplinks } from "../../../../device/protocol/messages.js";
import { topics } from "../app/app.js";
import { useApp, useTopic } from "../app/hooks.js";
import { plural } from "../model/words.js";
import { CopyButton } from "../parts/copy-button.js";
import { Choice } from "./fleet.js";

/** Rendered at most; all that is kept is searched and copied. */
const linesShown = 100;

export function DeviceLog({ deviceKey }: { deviceKey: string }) {
	const { recorder } = useApp();
	useTopic(topics.record(deviceKey));
	const [type, setType] = useState("");
	const [search, setSearch] = useState("");
	const [, setIsPaused] = useState(false);
	const { log } = recorder.watch(deviceKey);
	useEffect(
		() => () => {
			log.isPaused = false;
		},
		[log],
	);
	const lines = log.lines(type, search);
	const pause = () => {
		log.isPaused = !log.isPaused;
		setIsPaused(log.isPaused);
	};
	return (
		<section class="panel log" aria-label="What it said">
			<h2>What it said</h2>
			<div class="toolbar">
				<label class="find">
					<span class="visually-hidden">Search what it said</span>
					<input
						type="search"
						placeholder="Search…"
						value={search}
						onInput={({ currentTarget }) => setSearch(currentTarget.value)}
					/>
				</label>
				<Choice label="Type" value={type} onChange={setType} options={typeOptions} />
				<button type="button" class="small" aria-pressed={log.isPaused} onClick={pause}>
					Pause
				</button>
				<CopyButton text={() => lines.map(({ text }) => text).join("\n")} label="Copy all" />
				<p class="count" role="status">
					{log.isPaused ? `Paused, ${plural(log.missed, "message")} since` : plural(lines.length, "message")}
				</p>
			</div>
			{lines.length === 0 ? (
				<p class="empty">
					{search || type ? "Nothing like that." : "Nothing yet since this page was opened."}
				</p>
			) : (
				<ol class="lines" reversed>
					{lines
						.slice(-linesShown)
						.reverse()
						.map((line) => (
							<li key={line.number}>
								<details>
									<summary>
										<time>{new Date(line.at).toLocaleTimeString("en-GB")}</time> <b>{line.type}</b>{" "}
										<span class="line-text">{line.text}</span>
									</summary>
									<pre>{pretty(line.text)}</pre>
									<CopyButton text={() => line.text} />
								</details>
							</li>
						))}
				</ol>
			)}
		</section>
	);
}

const typeOptions = [["", "Any"] as const, ...Object.keys(uplinks).map((name) => [name, name] as const)];

function pretty(text: string): string {
	return JSON.stringify(JSON.parse(text), null, 2);
}
