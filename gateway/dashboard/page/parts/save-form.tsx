/** A form that is saved or given up, in a view or in a dialog. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Action } from "../../../api/commands.js";
import { useMayChange } from "../app/hooks.js";
import { Problem } from "./problem.js";
import { useRequest } from "./use-request.js";

interface FormProps {
	/** What a person who saves it must be allowed to do; default: what is for monitors alone. */
	readonly action?: Action;
	readonly isComplete?: boolean;
	/** What the button says; default: Save. */
	readonly verb?: string;
	/** Fails with an error that says what to change. */
	readonly onSave: (form: FormData) => Promise<unknown>;
	readonly children: ComponentChildren;
}

interface SaveFormProps extends FormProps {
	/** It was saved, or given up. */
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
	// A name that is there is selected, so that another can be typed over it.
	useEffect(() => form.current?.querySelector<HTMLInputElement>("input[type=text]")?.select(), []);
	const save = async (event: SubmitEvent) => {
		event.preventDefault();
		// Not by a disabled button, which would lose the keyboard's focus.
		if (!maySave || isBusy || !form.current) return;
		const data = new FormData(form.current);
		if (await run(() => onSave(data))) onEnd();
	};
	return (
		<form ref={form} class="save-form" autocomplete="off" onSubmit={save}>
			{children}
			<Problem>{problem}</Problem>
			<div class="actions">
				<button type="submit" class="primary" disabled={!maySave}>
					{verb}
				</button>
				<button type="button" onClick={onEnd}>
					Cancel
				</button>
			</div>
		</form>
	);
}

interface FormDialogProps extends FormProps {
	readonly title: string;
	readonly onClosed: () => void;
}

/** Open while it is rendered. */
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
