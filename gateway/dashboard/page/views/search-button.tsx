/** Button that opens the search palette, with its shortcuts: Ctrl+K or ⌘K, and `/` in views without a search field. */

import search from "lucide-static/icons/search.svg";
import { useEffect, useState } from "preact/hooks";
import { Icon } from "../parts/icon.js";
import { onDemand } from "./on-demand.js";

const Palette = onDemand<{ readonly onClose: () => void }>(
	"",
	async () => (await import("./later.js")).Palette,
);

export function SearchButton() {
	const [isOpen, setIsOpen] = useState(false);
	useEffect(() => {
		const onKeyDown = (event: KeyboardEvent) => {
			const { key, ctrlKey, metaKey, target } = event;
			const isTyping = target instanceof Element && target.matches(":read-write");
			if (document.querySelector("dialog[open]")) return;
			if ((ctrlKey || metaKey) && key === "k") setIsOpen(true);
			else if (key === "/" && !isTyping) {
				const field = document.querySelector<HTMLElement>("main input[type=search]");
				if (field) field.focus();
				else setIsOpen(true);
			} else return;
			event.preventDefault();
		};
		addEventListener("keydown", onKeyDown);
		return () => removeEventListener("keydown", onKeyDown);
	}, []);
	return (
		<>
			<button
				type="button"
				class="search-button"
				aria-haspopup="dialog"
				aria-keyshortcuts="Control+K Meta+K"
				onClick={() => setIsOpen(true)}
			>
				<Icon of={search} />
				<span>Search</span>
				<kbd aria-hidden>{/Mac|iP/.test(navigator.platform) ? "⌘K" : "Ctrl K"}</kbd>
			</button>
			{isOpen && <Palette onClose={() => setIsOpen(false)} />}
		</>
	);
}
