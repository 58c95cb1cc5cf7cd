/** A command line to be copied. */

import { CopyButton } from "./copy-button.js";

export function Command({ text }: { text: string }) {
	return (
		<div class="command">
			<code>{text}</code>
			<CopyButton text={() => text} />
		</div>
	);
}
