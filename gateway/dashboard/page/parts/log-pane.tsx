/** Lines that come one after the other: to be searched, halted and copied. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { plural } from "../../../api/client/words.js";
import type { Line, UplinkLog } from "../model/uplink-log.js";
import { CopyButton } from "./copy-button.js";

/** Rendered at most; all that is kept is searched and copied. */
const linesShown = 100;

interface LogPaneProps {
	readonly log: UplinkLog;
	/** What is searched, such as "what it said". */
	readonly what: string;
	readonly noun: string;
	/** Of a line; empty: any. */
	readonly type?: string;
	/** Beside the search. */
	readonly tools?: ComponentChildren;
	/** Instead of lines, where there is none. */
	readonly empty: string;
	readonly children: (line: Line) => ComponentChildren;
}

export function LogPane({ log, what, noun, type = "", tools, empty, children }: LogPaneProps) {
	const [search, setSearch] = useState("");
	const [, setIsPaused] = useState(false);
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
		<>
			<div class="toolbar">
				<label class="find">
					<span class="visually-hidden">Search {what}</span>
					<input
						type="search"
						placeholder="Search…"
						value={search}
						onInput={({ currentTarget }) => setSearch(currentTarget.value)}
					/>
				</label>
				{tools}
				<button type="button" class="small" aria-pressed={log.isPaused} onClick={pause}>
					Pause
				</button>
				<CopyButton text={() => lines.map(({ text }) => text).join("\n")} label="Copy all" />
				<p class="count" role="status">
					{log.isPaused ? `Paused, ${plural(log.missed, noun)} since` : plural(lines.length, noun)}
				</p>
			</div>
			{lines.length === 0 ? (
				<p class="empty">{search || type ? "Nothing like that." : empty}</p>
			) : (
				<ol class="lines" reversed>
					{lines
						.slice(-linesShown)
						.reverse()
						.map((line) => (
							<li key={line.number}>{children(line)}</li>
						))}
				</ol>
			)}
		</>
	);
}
