/** Form with cancel and save buttons, in a view or a dialog. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Action } from "../../../api/commands.js";
import { useMayChange } from "../app/hooks.js";
import { Problem } from "./problem.js";
import { useRequest } from "./use-request.js";

interface FormProps {
	/** Action that the person must be permitted; default: any reserved for monitors. */
	readonly action?: Action;
	readonly isComplete?: boolean;
	/** Label of the submit button; default: Save. */
	readonly verb?: string;
	/** Saves the form; rejects with an error to show. */
	readonly onSave: (form: FormData) => Promise<unknown>;
	readonly children: ComponentChildren;
}

interface SaveFormProps extends FormProps {
	/** Called after save or cancel. */
	readonly onEnd: () => void;
}

export function SaveForm({
	action,
	isComplete = true,
	verb = "Save",
	onSave,
	onEnd,
	children,
}: SaveFormProps) {
	const maySave = useMayChange(action) && isComplete;
	const { run, isBusy, problem } = useRequest();
	const form = useRef<HTMLFormElement>(null);
	// Selects an existing name, so that typing replaces it.
	useEffect(() => form.current?.querySelector<HTMLInputElement>("input[type=text]")?.select(), []);
	const save = async (event: SubmitEvent) => {
		event.preventDefault();
		// Disabling the button would lose the focus.
		if (!maySave || isBusy || !form.current) return;
		const data = new FormData(form.current);
		if (await run(() => onSave(data))) onEnd();
	};
	return (
		<form ref={form} class="save-form" autocomplete="off" onSubmit={save}>
			{children}
			<Problem>{problem}</Problem>
			<div class="actions">
				<button type="button" onClick={onEnd}>
					Cancel
				</button>
				<button type="submit" class="primary" disabled={!maySave}>
					{verb}
				</button>
			</div>
		</form>
	);
}

interface FormDialogProps extends FormProps {
	readonly title: string;
	readonly onClosed: () => void;
}

/** Modal dialog that is open while rendered. */
export function FormDialog({ title, onClosed, children, ...form }: FormDialogProps) {
	const dialog = useRef<HTMLDialogElement>(null);
	useEffect(() => dialog.current?.showModal(), []);
	return (
		<dialog ref={dialog} aria-label={title} onClose={onClosed}>
			<SaveForm {...form} onEnd={() => dialog.current?.close()}>
				<h2>{title}</h2>
				{children}
			</SaveForm>
		</dialog>
	);
}
