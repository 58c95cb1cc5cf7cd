/** Search palette and shortcuts of the page (keys.tsx), with the button that opens the palette. */

import search from "lucide-static/icons/search.svg";
import { useEffect, useState } from "preact/hooks";
import { useApp } from "../app/hooks.js";
import { Icon } from "../parts/icon.js";
import { shortcut } from "../parts/shortcut.js";
import { onDemand } from "./on-demand.js";

interface DialogProps {
	readonly onClose: () => void;
}

const Palette = onDemand<DialogProps>("", async () => (await import("./later.js")).Palette);
const Keys = onDemand<DialogProps>("", async () => (await import("./later.js")).Keys);

/** @returns a function that opens the palette, and the open dialog */
export function useShortcuts() {
	const { toasts } = useApp();
	const [Opened, setOpened] = useState<typeof Palette>();
	const open = (dialog: typeof Palette | undefined) => setOpened(() => dialog);
	useEffect(() => {
		const onKeyDown = (event: KeyboardEvent) => {
			const { key, ctrlKey, metaKey, target } = event;
			const isTyping = target instanceof Element && target.matches(":read-write");
			if (document.querySelector("dialog[open]")) return;
			if ((ctrlKey || metaKey) && key === "k") open(Palette);
			else if ((ctrlKey || metaKey) && key === "z" && !isTyping) {
				if (!toasts.undo()) return;
			} else if (key === "?" && !isTyping) open(Keys);
			else if (key === "/" && !isTyping) {
				const field = document.querySelector<HTMLElement>("main input[type=search]");
				if (field) field.focus();
				else open(Palette);
			} else return;
			event.preventDefault();
		};
		addEventListener("keydown", onKeyDown);
		return () => removeEventListener("keydown", onKeyDown);
	}, [toasts]);
	return {
		openPalette: () => open(Palette),
		dialog: Opened && <Opened onClose={() => open(undefined)} />,
	};
}

export function SearchButton({ onClick }: { readonly onClick: () => void }) {
	return (
		<button
			type="button"
			class="search-button"
			aria-haspopup="dialog"
			aria-keyshortcuts="Control+K Meta+K"
			onClick={onClick}
		>
			<Icon of={search} />
			<span>Search</span>
			<kbd aria-hidden>{shortcut("K")}</kbd>
		</button>
	);
}
