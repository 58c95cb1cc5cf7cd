/** Log of a device: summaries of its messages, their JSON on demand, and the live log of its firmware. */

import { useEffect, useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { clock, plural } from "../../../api/client/words.js";
import { useApp, useTopic } from "../app/hooks.js";
import type { Line } from "../app/recorder.js";
import { uplinkText, uplinkWords } from "../model/report-changes.js";
import { Button } from "../parts/button.js";
import { CopyButton } from "../parts/copy-button.js";
import { Choice, Search } from "../parts/field.js";

/** Maximum number of rendered lines. Search and copy cover all recorded lines. */
const linesShown = 100;

export function DeviceLog({ entry }: { entry: Entry }) {
	const { key } = entry;
	const { lines: recorded } = useApp().recorder.watch(key);
	useTopic(`record ${key}`);
	const [type, setType] = useState("");
	const [search, setSearch] = useState("");
	/** Lines shown while paused. */
	const [paused, setPaused] = useState<readonly Line[]>();
	const word = search.toLowerCase();
	const lines = (paused ?? recorded).filter(
		(line) =>
			(type === "" || line.type === type) &&
			(word === "" || `${summaryOf(line)}\n${line.text}`.toLowerCase().includes(word)),
	);
	const missed = (recorded.at(-1)?.number ?? 0) - (paused?.at(-1)?.number ?? 0);
	return (
		<section class="panel log" aria-label="Log">
			<div class="toolbar">
				<Search label="Search the log" placeholder="Search…" value={search} onInput={setSearch} />
				<Choice label="Show" value={type} onChange={setType} options={typeOptions} />
				{entry.session.features.includes("log") && <LiveLog entry={entry} />}
				<Button
					look="small"
					isPressed={paused !== undefined}
					onClick={() => setPaused(paused ? undefined : recorded)}
				>
					Pause
				</Button>
				<CopyButton text={() => lines.map(({ text }) => text).join("\n")} label="Copy all" />
				<p class="count">
					{paused ? `Paused, ${plural(missed, "line")} since` : plural(lines.length, "line")}
				</p>
			</div>
			{lines.length === 0 ? (
				<p class="empty">
					{search || type ? "No matching lines." : "No messages since this page was opened."}
				</p>
			) : (
				<ol class="lines" reversed>
					{lines
						.slice(-linesShown)
						.reverse()
						.map((line) => (
							<li key={line.number}>
								{line.type === "log" ? (
									<p class="trace-line">
										<time>{timeOf(line)}</time> <span class="trace-text">{line.text}</span>
									</p>
								) : (
									<MessageLine line={line} />
								)}
							</li>
						))}
				</ol>
			)}
		</section>
	);
}

/** Duration after which the device stops the live log. */
const logSeconds = 300;

/** Button that starts and stops the live log, which belongs to a session. */
function LiveLog({ entry: { key, session } }: { entry: Entry }) {
	const app = useApp();
	const [logSession, setLogSession] = useState<string>();
	const isOn = logSession === session.sessionId && session.connected;
	useEffect(() => {
		if (!isOn) return;
		const timer = setTimeout(() => setLogSession(undefined), logSeconds * 1000);
		return () => clearTimeout(timer);
	}, [isOn]);
	const toggle = async () => {
		await app.setLog(key, isOn ? "off" : "info", logSeconds);
		setLogSession(isOn ? undefined : session.sessionId);
	};
	return (
		<Button look="small" isChange disabled={!session.connected} onClick={toggle}>
			<span title="Trace output of the firmware: the last 2 KB, then live for 5 minutes">
				{isOn ? "Stop" : "Start"} live log
			</span>
		</Button>
	);
}

function MessageLine({ line }: { line: Line }) {
	const [isOpen, setIsOpen] = useState(false);
	return (
		<details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
			<summary>
				<time>{timeOf(line)}</time> <b>{uplinkWords[line.type]}</b>{" "}
				<span class="line-text">{summaryOf(line)}</span>
			</summary>
			{isOpen && (
				<>
					<pre>{JSON.stringify(JSON.parse(line.text), null, 2)}</pre>
					<CopyButton text={() => line.text} />
				</>
			)}
		</details>
	);
}

function summaryOf({ parsed }: Line): string {
	return parsed ? uplinkText(...parsed) : "";
}

function timeOf({ at }: Line): string {
	return clock(at / 1000, undefined, "medium");
}

const typeOptions = [["", "Everything"] as const, ...Object.entries(uplinkWords)];
