/** A command line to be copied. */

import { CopyButton } from "./copy-button.js";

interface CommandProps {
	readonly text: string;
	/** Where what is copied is not what is shown. */
	readonly toCopy?: () => Promise<string>;
}

export function Command({ text, toCopy }: CommandProps) {
	return (
		<div class="command">
			<code>{text}</code>
			<CopyButton text={toCopy ?? (() => text)} />
		</div>
	);
}
