/** Copies a text, and says whether it did: the clipboard is not there on plain http from another computer. */

import { useEffect, useState } from "preact/hooks";

const saidForMs = 2500;

export function CopyButton({ text, label = "Copy" }: { text: () => string; label?: string }) {
	const [said, setSaid] = useState("");
	useEffect(() => {
		if (said === "") return;
		const timer = setTimeout(() => setSaid(""), saidForMs);
		return () => clearTimeout(timer);
	}, [said]);
	const onClick = async () => setSaid((await copy(text())) ? "Copied" : "Not copied: select the text");
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
