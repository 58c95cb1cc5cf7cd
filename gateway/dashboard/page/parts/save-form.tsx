/** Form with cancel and save buttons, in a view or a sheet. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Action } from "../../../api/commands.js";
import { useMayChange } from "../app/hooks.js";
import { Problem } from "./problem.js";
import { Sheet } from "./sheet.js";
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

export function SaveForm({ verb = "Save", onEnd, children, ...options }: SaveFormProps) {
	const { form, onSubmit, maySave, problem } = useForm({ ...options, onEnd });
	return (
		<form ref={form} class="save-form" autocomplete="off" onSubmit={onSubmit}>
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

/** Form in a sheet that is open while rendered. */
export function FormDialog({ title, verb = "Save", onClosed, children, ...options }: FormDialogProps) {
	const { form, onSubmit, maySave, problem } = useForm({
		...options,
		onEnd: () => form.current?.closest("dialog")?.close(),
	});
	const id = useId();
	// The sheet would focus its close button.
	useEffect(() => form.current?.querySelector<HTMLElement>("input, select, textarea, button")?.focus(), []);
	return (
		<Sheet
			title={title}
			keepsInput
			onClose={onClosed}
			footer={
				<>
					<Problem>{problem}</Problem>
					<button type="button" onClick={({ currentTarget }) => currentTarget.closest("dialog")?.close()}>
						Cancel
					</button>
					<button type="submit" form={id} class="primary" disabled={!maySave}>
						{verb}
					</button>
				</>
			}
		>
			<form ref={form} id={id} class="save-form" autocomplete="off" onSubmit={onSubmit}>
				{children}
			</form>
		</Sheet>
	);
}

function useForm({ action, isComplete = true, onSave, onEnd }: Omit<SaveFormProps, "verb" | "children">) {
	const maySave = useMayChange(action) && isComplete;
	const { run, isBusy, problem } = useRequest();
	const form = useRef<HTMLFormElement>(null);
	// Selects an existing name, so that typing replaces it.
	useEffect(() => form.current?.querySelector<HTMLInputElement>("input[type=text]")?.select(), []);
	const onSubmit = async (event: SubmitEvent) => {
		event.preventDefault();
		// Disabling the button would lose the focus.
		if (!maySave || isBusy || !form.current) return;
		const data = new FormData(form.current);
		if (await run(() => onSave(data))) onEnd();
	};
	return { form, onSubmit, maySave, problem };
}
