/** A dialog with a form. It is open while it is rendered, and closes once what is in it is saved. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Action } from "../../../api/permissions.js";
import { useMayChange } from "../app/hooks.js";
import { Problem } from "./problem.js";
import { useRequest } from "./use-request.js";

interface FormDialogProps {
	readonly title: string;
	/** What a person who saves it must be allowed to do. */
	readonly action: Action;
	readonly isComplete: boolean;
	/** Fails with an error that says what to change. */
	readonly onSave: () => Promise<unknown>;
	readonly onClosed: () => void;
	readonly children: ComponentChildren;
}

export function FormDialog({ title, action, isComplete, onSave, onClosed, children }: FormDialogProps) {
	const maySave = useMayChange(action) && isComplete;
	const { run, isBusy, problem } = useRequest();
	const dialog = useRef<HTMLDialogElement>(null);
	useEffect(() => dialog.current?.showModal(), []);
	const close = () => dialog.current?.close();
	const save = async (event: SubmitEvent) => {
		event.preventDefault();
		if (maySave && !isBusy && (await run(onSave))) close();
	};
	return (
		<dialog ref={dialog} aria-label={title} onClose={onClosed}>
			<form autocomplete="off" onSubmit={save}>
				<h2>{title}</h2>
				{children}
				<Problem>{problem}</Problem>
				<div class="actions">
					<button type="submit" class="primary" disabled={!maySave}>
						Save
					</button>
					<button type="button" onClick={close}>
						Cancel
					</button>
				</div>
			</form>
		</dialog>
	);
}
