/** Copies a text, and says whether it did: the clipboard is not there on plain http from another computer. */

import { useEffect, useState } from "preact/hooks";
import { messageOf } from "../../../api/client/request.js";

const saidForMs = 2500;

interface CopyButtonProps {
	/** May fail, with a sentence. */
	readonly text: () => string | Promise<string>;
	readonly label?: string;
}

export function CopyButton({ text, label = "Copy" }: CopyButtonProps) {
	const [said, setSaid] = useState("");
	useEffect(() => {
		if (said === "") return;
		const timer = setTimeout(() => setSaid(""), saidForMs);
		return () => clearTimeout(timer);
	}, [said]);
	const onClick = async () => {
		try {
			setSaid((await copy(await text())) ? "Copied" : "Not copied: select the text");
		} catch (error) {
			setSaid(`Not copied: ${messageOf(error)}`);
		}
	};
	return (
		<>
			<button type="button" class="quiet small" onClick={onClick}>
				{said || label}
			</button>
			<span class="visually-hidden" role="status">
				{said}
			</span>
		</>
	);
}

async function copy(text: string): Promise<boolean> {
	if (navigator.clipboard) {
		try {
			await navigator.clipboard.writeText(text);
			return true;
		} catch {
			// Not allowed, perhaps; the older way may be.
		}
	}
	const area = document.createElement("textarea");
	area.value = text;
	area.className = "visually-hidden";
	document.body.append(area);
	area.select();
	const isCopied = document.execCommand("copy");
	area.remove();
	return isCopied;
}
