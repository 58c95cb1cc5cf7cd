/** Form in a sheet. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Action } from "../../../api/commands.js";
import { useMayChange } from "../app/hooks.js";
import { Problem, useRequest } from "./problem.js";
import { Sheet } from "./sheet.js";

interface FormDialogProps {
	readonly title: string;
	/** Action that the person must be permitted; default: any reserved for monitors. */
	readonly action?: Action;
	readonly isComplete?: boolean;
	/** Label of the submit button; default: Save. */
	readonly verb?: string;
	/** Effect of the form, above the buttons. */
	readonly preview?: ComponentChildren;
	/** Saves the form; rejects with an error to show. */
	readonly onSave: () => Promise<unknown>;
	readonly onClosed: () => void;
	readonly children: ComponentChildren;
}

/** Is open while rendered. */
export function FormDialog(props: FormDialogProps) {
	const { title, action, isComplete = true, verb = "Save", preview, onSave, onClosed, children } = props;
	const maySave = useMayChange(action) && isComplete;
	const { run, isBusy, problem } = useRequest();
	const form = useRef<HTMLFormElement>(null);
	const id = useId();
	useEffect(() => {
		// The sheet would focus its close button.
		form.current?.querySelector<HTMLElement>("input, select, textarea, button")?.focus();
		// Selects an existing name, so that typing replaces it.
		form.current?.querySelector<HTMLInputElement>("input[type=text]")?.select();
	}, []);
	const onSubmit = async (event: SubmitEvent) => {
		event.preventDefault();
		// Disabling the button would lose the focus.
		if (!maySave || isBusy) return;
		if (await run(onSave)) form.current?.closest("dialog")?.close();
	};
	return (
		<Sheet
			title={title}
			keepsInput
			onClose={onClosed}
			footer={
				<>
					{preview && <div class="preview">{preview}</div>}
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
			<form ref={form} id={id} class="column" autocomplete="off" onSubmit={onSubmit}>
				{children}
			</form>
		</Sheet>
	);
}
