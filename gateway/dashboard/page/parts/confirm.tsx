/** A button that asks before it acts. */

import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";

interface ConfirmProps {
	/** On the button, and on the one that confirms. */
	readonly label: string;
	/** What is asked. */
	readonly title: string;
	readonly children: ComponentChildren;
	readonly onConfirm: () => void;
	readonly isPrimary?: boolean;
	readonly disabled?: boolean;
	/** False: it acts at once. */
	readonly asks?: boolean;
}

export function Confirm(props: ConfirmProps) {
	const { label, title, children, onConfirm, isPrimary = false, disabled = false, asks = true } = props;
	const dialog = useRef<HTMLDialogElement>(null);
	const id = useId();
	const look = isPrimary ? "primary" : "";
	return (
		<>
			<button
				type="button"
				class={look}
				disabled={disabled}
				onClick={() => (asks ? dialog.current?.showModal() : onConfirm())}
			>
				{label}
			</button>
			<dialog ref={dialog} aria-labelledby={id}>
				<form method="dialog" onSubmit={({ submitter }) => submitter?.id === `${id}-yes` && onConfirm()}>
					<h2 id={id}>{title}</h2>
					{children}
					<div class="actions">
						<button type="submit">Not now</button>
						<button type="submit" id={`${id}-yes`} class={look} disabled={disabled}>
							{label}
						</button>
					</div>
				</form>
			</dialog>
		</>
	);
}
