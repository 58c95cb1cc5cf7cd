/** A list of which the first few are shown, and the others when they are asked for. */

import type { ComponentChildren } from "preact";

const shownAtMost = 5;

interface BoundedProps<T> {
	readonly label: string;
	/** The most important first. */
	readonly items: readonly T[];
	/** Makes one `li`. */
	readonly children: (item: T) => ComponentChildren;
}

export function Bounded<T>({ label, items, children }: BoundedProps<T>) {
	const rest = items.slice(shownAtMost);
	return (
		<>
			<ol class="history" aria-label={label}>
				{items.slice(0, shownAtMost).map(children)}
			</ol>
			{rest.length > 0 && (
				<details class="rest">
					<summary>{rest.length} more</summary>
					<ol class="history" aria-label={`${label}, the others`}>
						{rest.map(children)}
					</ol>
				</details>
			)}
		</>
	);
}
