/** Modal panel at the right of the window, or over a whole phone. It is open while rendered. */

import close from "lucide-static/icons/x.svg";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icon.js";

interface SheetProps {
	readonly title: ComponentChildren;
	/** In px. Default: 480. */
	readonly width?: 480 | 560;
	/** Called when it was closed, by the button, Escape or a click outside. */
	readonly onClose: () => void;
	/** Buttons that stay at the bottom: cancel left, primary right. */
	readonly footer?: ComponentChildren;
	readonly children: ComponentChildren;
}

export function Sheet({ title, width = 480, onClose, footer, children }: SheetProps) {
	const dialog = useRef<HTMLDialogElement>(null);
	const id = useId();
	useEffect(() => {
		const { current } = dialog;
		current?.showModal();
		// The backdrop belongs to the dialog; its body covers the rest of it.
		current?.addEventListener("click", ({ target }) => target === current && current.close());
	}, []);
	return (
		<dialog
			ref={dialog}
			class="sheet"
			style={{ "--width": `${width}px` }}
			aria-labelledby={id}
			onClose={onClose}
		>
			<div class="sheet-body">
				<header>
					<h2 id={id}>{title}</h2>
					<button
						type="button"
						class="icon-button quiet"
						aria-label="Close"
						onClick={() => dialog.current?.close()}
					>
						<Icon of={close} />
					</button>
				</header>
				<div class="sheet-content">{children}</div>
				{footer && <footer class="actions">{footer}</footer>}
			</div>
		</dialog>
	);
}
