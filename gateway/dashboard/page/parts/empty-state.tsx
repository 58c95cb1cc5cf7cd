/** Placeholder of an empty view or list: what will be here, and how to get it. */

import type { ComponentChildren, ComponentProps } from "preact";
import { Icon } from "./icon.js";

interface EmptyStateProps {
	readonly icon?: ComponentProps<typeof Icon>["of"];
	readonly title: string;
	readonly children?: ComponentChildren;
}

export function EmptyState({ icon, title, children }: EmptyStateProps) {
	return (
		<div class="empty">
			{icon && <Icon of={icon} size={32} />}
			<h2>{title}</h2>
			{children && <p>{children}</p>}
		</div>
	);
}
