/** Section of a view with a heading. */

import type { ComponentChildren } from "preact";

interface PanelProps {
	readonly title: string;
	/** Classes. */
	readonly look?: string;
	/** Text after the heading. */
	readonly hint?: ComponentChildren;
	/** Accessible name; default: the title. */
	readonly label?: string;
	readonly children: ComponentChildren;
}

export function Panel({ title, look = "", hint, label = title, children }: PanelProps) {
	return (
		<section class={`panel ${look}`} aria-label={label}>
			<h2>
				{title} {hint && <span class="hint">{hint}</span>}
			</h2>
			{children}
		</section>
	);
}
