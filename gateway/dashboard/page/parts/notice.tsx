/** Notice with actions at its right. */

import type { ComponentChildren } from "preact";

interface NoticeProps {
	readonly tone: "busy" | "warn" | "bad";
	/** Makes the notice a landmark across the window. */
	readonly label?: string;
	/** Buttons and links. */
	readonly actions?: ComponentChildren;
	readonly children: ComponentChildren;
}

export function Notice({ tone, label, actions, children }: NoticeProps) {
	const Box = label === undefined ? "div" : "aside";
	return (
		<Box class={`notice ${tone}`} aria-label={label}>
			<div class="notice-text">{children}</div>
			{actions && <div class="actions">{actions}</div>}
		</Box>
	);
}
