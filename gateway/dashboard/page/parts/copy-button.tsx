/** Copies a text. */

import { useApp } from "../app/hooks.js";
import { Button } from "./button.js";

interface CopyButtonProps {
	/** May fail, with a sentence. */
	readonly text: () => string | Promise<string>;
	readonly label?: string;
}

export function CopyButton({ text, label = "Copy" }: CopyButtonProps) {
	const { toasts } = useApp();
	const onClick = async () => {
		const whole = await text();
		if (!(await copy(whole)) && !copyByElement(whole)) throw new Error("Not copied: select the text.");
		toasts.show("copied", "Copied");
	};
	return (
		<Button look="quiet small" onClick={onClick}>
			{label}
		</Button>
	);
}

/** A text to be copied. */
export function CopyLine({ text }: { readonly text: string }) {
	return (
		<div class="command">
			<code>{text}</code>
			<CopyButton text={() => text} />
		</div>
	);
}

/** The clipboard is not there on plain http from another computer, and may not be permitted. */
async function copy(text: string): Promise<boolean> {
	return navigator.clipboard?.writeText(text).then(
		() => true,
		() => false,
	);
}

function copyByElement(text: string): boolean {
	const area = document.createElement("textarea");
	area.value = text;
	area.className = "visually-hidden";
	document.body.append(area);
	area.select();
	const isCopied = document.execCommand("copy");
	area.remove();
	return isCopied;
}
