/** Button that copies a text to the clipboard. */

import { request } from "../app/gateway.js";
import { useApp } from "../app/hooks.js";
import { Button } from "./button.js";

interface CopyButtonProps {
	/** Returns the text; may reject with an error to show. */
	readonly text: () => string | Promise<string>;
	readonly label?: string;
}

export function CopyButton({ text, label = "Copy" }: CopyButtonProps) {
	const { toasts } = useApp();
	const onClick = async () => {
		const whole = await text();
		if (!(await copy(whole)) && !copyByElement(whole))
			throw new Error("Copying failed. Select the text and copy it.");
		toasts.show("copied", "Copied");
	};
	return (
		<Button look="quiet small" onClick={onClick}>
			{label}
		</Button>
	);
}

/** Text with a copy button. @param copied returns another text for the clipboard */
export function CopyLine({ text, copied }: { text: string; copied?: () => Promise<string> }) {
	return (
		<div class="command">
			<code>{text}</code>
			<CopyButton text={copied ?? (() => text)} />
		</div>
	);
}

/** Command line with the device token, which is hidden on screen and inserted when copying. */
export function TokenCommand({ text }: { readonly text: (token: string) => string }) {
	const copied = async () => text((await request("GET /api/device-token")).token);
	return <CopyLine text={text("<device token>")} copied={copied} />;
}

/** Uses the Clipboard API, which is unavailable over plain http and may be denied. */
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
