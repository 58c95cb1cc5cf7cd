/** List of past events, the latest first; older ones are collapsed. */

import type { ComponentChildren } from "preact";
import { when } from "../../../api/client/words.js";

export interface PastEvent {
	/** ISO 8601, or milliseconds since 1970. */
	readonly at: string | number;
	/** Classes. */
	readonly look?: string;
	/** One line of text. */
	readonly text: ComponentChildren;
	readonly more?: ComponentChildren;
}

interface HistoryProps {
	/** Accessible name. */
	readonly label: string;
	readonly items: readonly PastEvent[];
}

const maxShown = 5;

export function History({ label, items }: HistoryProps) {
	const rest = items.slice(maxShown);
	if (items.length === 0) return null;
	return (
		<>
			<PastEvents label={label} items={items.slice(0, maxShown)} />
			{rest.length > 0 && (
				<details class="rest">
					<summary>{rest.length} more</summary>
					<PastEvents label={`${label}, older`} items={rest} />
				</details>
			)}
		</>
	);
}

function PastEvents({ label, items }: HistoryProps) {
	return (
		<ol class="history" aria-label={label}>
			{items.map(({ at, look = "", text, more }) => (
				<li key={typeof text === "string" ? `${at} ${text}` : `${at} ${look}`} class={look}>
					<time dateTime={new Date(at).toISOString()}>{when(at)}</time>
					<span>{text}</span>
					{more}
				</li>
			))}
		</ol>
	);
}
