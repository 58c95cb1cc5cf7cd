/** Row of a list: mark, title above texts, and actions at the right. */

import type { ComponentChildren } from "preact";

interface ItemProps {
	/** Icon or dot. */
	readonly mark?: ComponentChildren;
	readonly title: ComponentChildren;
	/** Texts below the title, separated by dots; empty ones are omitted. */
	readonly facts: readonly (string | false | null | undefined)[];
	/** Buttons and links. */
	readonly actions?: ComponentChildren;
	/** Classes. */
	readonly look?: string;
	/** Contents below the texts. */
	readonly children?: ComponentChildren;
}

export function Item({ mark, title, facts, actions, look = "", children }: ItemProps) {
	return (
		<li class={look}>
			{mark}
			<div>
				<strong>{title}</strong>
				<p class="hint">{facts.filter(Boolean).join(" · ")}</p>
				{children}
			</div>
			{actions && <div class="actions">{actions}</div>}
		</li>
	);
}
