/** Modal panel at the right of the window, or over a whole phone. It is open while rendered. */

import close from "lucide-static/icons/x.svg";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { Dialog, requestClose } from "./dialog.js";
import { Icon } from "./icon.js";

interface SheetProps {
	readonly title: ComponentChildren;
	/** See `Dialog`. */
	readonly keepsInput?: boolean;
	/** Called when it was closed. */
	readonly onClose: () => void;
	/** Buttons that stay at the bottom: cancel left, primary right. */
	readonly footer?: ComponentChildren;
	readonly children: ComponentChildren;
}

export function Sheet({ title, keepsInput = false, onClose, footer, children }: SheetProps) {
	const id = useId();
	return (
		<Dialog look="sheet" labelledBy={id} keepsInput={keepsInput} onClose={onClose}>
			<header>
				<h2 id={id}>{title}</h2>
				<button
					type="button"
					class="icon-button quiet"
					aria-label="Close"
					onClick={({ currentTarget }) => requestClose(currentTarget)}
				>
					<Icon of={close} />
				</button>
			</header>
			<div class="sheet-content">{children}</div>
			{footer && <footer class="actions">{footer}</footer>}
		</Dialog>
	);
}
