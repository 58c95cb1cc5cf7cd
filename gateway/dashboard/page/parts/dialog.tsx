/**
 * Modal dialogs in the top layer, open while rendered. Escape, Back and a press outside close the topmost dialog or menu and keep the
 * page; a dialog with changed input asks first.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

interface DialogProps {
	/** Id of its heading. */
	readonly labelledBy?: string;
	/** Accessible name without a heading. */
	readonly label?: string;
	/** Class. */
	readonly look?: string;
	/** Whether to ask before closing would lose input. */
	readonly keepsInput?: boolean;
	/** Called when it was closed. */
	readonly onClose: () => void;
	readonly children: ComponentChildren;
}

export function Dialog({ labelledBy, label, look, keepsInput = false, onClose, children }: DialogProps) {
	const dialog = useRef<HTMLDialogElement>(null);
	const isChanged = useRef(false);
	const [isAsking, setIsAsking] = useState(false);
	useLayoutEffect(() => dialog.current?.showModal(), []);
	const onChange = () => {
		isChanged.current = keepsInput;
	};
	return (
		<dialog
			ref={dialog}
			class={look}
			aria-labelledby={labelledBy}
			aria-label={label}
			onInput={onChange}
			onClose={onClose}
			onCancel={(event) => {
				// A file input has an event of this name too.
				if (event.target !== dialog.current || !isChanged.current) return;
				event.preventDefault();
				setIsAsking(true);
			}}
			// The backdrop belongs to the dialog; its content covers the rest of it.
			onPointerDown={({ target, currentTarget }) => target === currentTarget && requestClose(currentTarget)}
		>
			{children}
			{isAsking && (
				<Ask
					question={{ title: "Discard the changes?", loss: { do: "Discard", keep: "Keep editing" } }}
					onYes={() => dialog.current?.close()}
					onClose={() => setIsAsking(false)}
				/>
			)}
		</dialog>
	);
}

/** Closes the dialog around an element, after asking if input would be lost. */
export function requestClose(element: Element | null): void {
	const dialog = element?.closest("dialog");
	if (dialog?.dispatchEvent(new Event("cancel", { cancelable: true }))) dialog.close();
}

export interface Question {
	readonly title: string;
	readonly text?: string;
	/** Labels of the buttons that confirm and reject an irreversible action. */
	readonly loss?: { readonly do: string; readonly keep: string };
}

interface AskProps {
	readonly question: Question;
	/** Label of the button that confirms. */
	readonly verb?: ComponentChildren;
	readonly disabled?: boolean;
	readonly onYes: () => unknown;
	readonly onClose: () => void;
}

/** Question with one primary button, which is red if the action is irreversible. */
export function Ask({ question: { title, text, loss }, verb, disabled, onYes, onClose }: AskProps) {
	const id = useId();
	const yes = useRef<HTMLButtonElement>(null);
	useEffect(() => {
		if (!loss) yes.current?.focus();
	}, []);
	return (
		<Dialog labelledBy={id} onClose={onClose}>
			<form
				onSubmit={(event) => {
					event.preventDefault();
					event.currentTarget.closest("dialog")?.close();
					onYes();
				}}
			>
				<h2 id={id}>{title}</h2>
				{text && <p>{text}</p>}
				<div class="actions">
					<button type="button" onClick={({ currentTarget }) => requestClose(currentTarget)}>
						{loss?.keep ?? "Cancel"}
					</button>
					<button ref={yes} type="submit" class={loss ? "danger" : "primary"} disabled={disabled}>
						{loss?.do ?? verb}
					</button>
				</div>
			</form>
		</Dialog>
	);
}

// Older browsers lack the Navigation API; there, Back leaves the view with its dialogs.
globalThis.navigation?.addEventListener("navigate", (event) => {
	// A nested dialog or menu follows the outer one.
	const top = [...document.querySelectorAll<HTMLElement>("dialog[open], :popover-open")].at(-1);
	if (event.navigationType !== "traverse" || !event.cancelable || !top) return;
	event.preventDefault();
	if (top.popover) top.hidePopover();
	else requestClose(top);
});
