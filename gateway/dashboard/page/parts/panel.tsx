/** A part of a view, with its heading. */

import type { ComponentChildren } from "preact";

interface PanelProps {
	readonly title: string;
	/** Classes. */
	readonly look?: string;
	/** Behind the heading. */
	readonly hint?: ComponentChildren;
	/** For a screen reader, where it is not the title. */
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
