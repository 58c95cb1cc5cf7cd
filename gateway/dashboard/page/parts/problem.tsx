/** Error message. It is rendered even if empty, so that screen readers announce a new message. */

import type { ComponentChildren } from "preact";

export function Problem({ id, children }: { readonly id?: string; readonly children: ComponentChildren }) {
	return (
		<p class="problem" id={id} role="alert">
			{children}
		</p>
	);
}
