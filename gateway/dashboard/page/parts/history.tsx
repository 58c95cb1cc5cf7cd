/** What has happened, the latest first: a few are shown, and the others when they are asked for. */

import type { ComponentChildren } from "preact";
import { when } from "../../../api/client/words.js";

const shownAtMost = 5;

export interface Happening {
	/** ISO 8601, or milliseconds since 1970. */
	readonly at: string | number;
	/** As people read it, where a date and a time are too much. */
	readonly time?: string;
	/** Classes. */
	readonly look?: string;
	/** One line. */
	readonly text: ComponentChildren;
	readonly more?: ComponentChildren;
}

interface HistoryProps {
	/** Of a screen reader. */
	readonly label: string;
	readonly items: readonly Happening[];
}

export function History({ label, items }: HistoryProps) {
	const rest = items.slice(shownAtMost);
	if (items.length === 0) return null;
	return (
		<>
			<Happenings label={label} items={items.slice(0, shownAtMost)} />
			{rest.length > 0 && (
				<details class="rest">
					<summary>{rest.length} more</summary>
					<Happenings label={`${label}, the others`} items={rest} />
				</details>
			)}
		</>
	);
}

function Happenings({ label, items }: HistoryProps) {
	return (
		<ol class="history" aria-label={label}>
			{items.map(({ at, time = when(at), look = "", text, more }) => (
				<li key={typeof text === "string" ? `${at} ${text}` : at} class={look}>
					<time dateTime={new Date(at).toISOString()}>{time}</time>
					<span>{text}</span>
					{more}
				</li>
			))}
		</ol>
	);
}
