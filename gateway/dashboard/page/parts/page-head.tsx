/** Head of a view: title, optional link back, and actions at its right. */

import back from "lucide-static/icons/chevron-left.svg";
import type { ComponentChildren } from "preact";
import { Icon } from "./icon.js";

interface PageHeadProps {
	readonly title: ComponentChildren;
	/** View that contains this one. */
	readonly parent?: { readonly title: string; readonly href: string };
	/** Buttons. */
	readonly children?: ComponentChildren;
}

export function PageHead({ title, parent, children }: PageHeadProps) {
	return (
		<header class="page-head">
			{parent && (
				<a class="parent" href={parent.href}>
					<Icon of={back} size={16} />
					{parent.title}
				</a>
			)}
			<h1>{title}</h1>
			{children && <div class="actions">{children}</div>}
		</header>
	);
}
