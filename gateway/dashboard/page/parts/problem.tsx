/** Why something that was asked for is not done. It is announced when it appears, so it is there before, empty. */

import type { ComponentChildren } from "preact";

export function Problem({ id, children }: { readonly id?: string; readonly children: ComponentChildren }) {
	return (
		<p class="problem" id={id} role="alert">
			{children}
		</p>
	);
}
