/** List of past events, the latest first; older ones are collapsed. */

import type { ComponentChildren } from "preact";
import { when } from "../../../api/client/words.js";
import { Item } from "./item.js";

export interface PastEvent {
	/** ISO 8601. */
	readonly at: string;
	/** Color of a success or a failure. */
	readonly tone?: "done" | "failed" | undefined;
	readonly text: string;
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
		<ol class="listed" aria-label={label}>
			{items.map(({ at, tone = "off", text, more }) => (
				<Item
					key={`${at} ${text}`}
					mark={<i class="dot" style={{ background: `var(--${tone})` }} />}
					title={text}
					facts={[when(at)]}
				>
					{more}
				</Item>
			))}
		</ol>
	);
}
