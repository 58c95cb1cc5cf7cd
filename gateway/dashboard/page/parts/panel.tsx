/** Section of a view with a heading. */

import type { ComponentChildren } from "preact";

interface PanelProps {
	readonly title: string;
	/** Classes. */
	readonly look?: string;
	/** Text after the heading. */
	readonly hint?: ComponentChildren;
	/** Buttons at the right of the heading. */
	readonly actions?: ComponentChildren;
	readonly children: ComponentChildren;
}

export function Panel({ title, look = "", hint, actions, children }: PanelProps) {
	const heading = (
		<h2>
			{title} {hint && <span class="hint">{hint}</span>}
		</h2>
	);
	return (
		<section class={`panel ${look}`} aria-label={title}>
			{actions ? (
				<header class="panel-head">
					{heading}
					<div class="actions">{actions}</div>
				</header>
			) : (
				heading
			)}
			{children}
		</section>
	);
}
