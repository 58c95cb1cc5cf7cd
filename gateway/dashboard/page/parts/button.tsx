/** A button: what it does may have to be confirmed, may take a while, and may fail, which is said beside it. */

import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import type { Action } from "../../../api/commands.js";
import { useMayChange } from "../app/hooks.js";
import { Problem } from "./problem.js";
import { useRequest } from "./use-request.js";

interface ButtonProps {
	/** Classes: primary, quiet, small. */
	readonly look?: string;
	/** For a screen reader and a pointer, where the text alone does not say what it is about. */
	readonly label?: string | undefined;
	readonly disabled?: boolean;
	/** It is for monitors alone, and for no one while the gateway is away. */
	readonly isChange?: boolean;
	/** The same, for those who may do this. */
	readonly action?: Action;
	readonly isPressed?: boolean | undefined;
	readonly isOpen?: boolean;
	/** RequestedCommand before it acts; false: it acts at once. */
	readonly question?: Question | false | undefined;
	/** May fail with an error, which is shown. While it goes on, nothing is begun by another click. */
	readonly onClick: () => unknown;
	readonly children: ComponentChildren;
}

/** What is done to more devices is asked about first. */
export const fewDevices = 20;

export interface Question {
	readonly title: string;
	readonly text: ComponentChildren;
	/** What is deleted or stopped for good: the text of the button that does it, and of the one that keeps it. */
	readonly loss?: { readonly do: string; readonly keep: string };
}

export function Button(props: ButtonProps) {
	const {
		look = "",
		label,
		action,
		isChange = action !== undefined,
		isPressed,
		isOpen,
		question = false,
		onClick,
		children,
	} = props;
	const mayChange = useMayChange(action);
	const disabled = props.disabled || (isChange && !mayChange);
	const { run, isBusy, problem } = useRequest();
	const id = useId();
	const dialog = useRef<HTMLDialogElement>(null);
	const act = () => {
		if (!isBusy) void run(async () => onClick());
	};
	return (
		<>
			<button
				type="button"
				class={look}
				disabled={disabled}
				aria-label={label}
				title={label}
				aria-pressed={isPressed}
				aria-expanded={isOpen}
				onClick={question ? () => dialog.current?.showModal() : act}
			>
				{children}
			</button>
			{question && (
				<dialog ref={dialog} aria-labelledby={id}>
					<form method="dialog" onSubmit={({ submitter }) => submitter?.id === `${id}-yes` && act()}>
						<h2 id={id}>{question.title}</h2>
						{question.text}
						<div class="actions">
							<button type="submit">{question.loss?.keep ?? "Not now"}</button>
							<button
								type="submit"
								id={`${id}-yes`}
								class={question.loss ? "danger" : look}
								disabled={disabled}
							>
								{question.loss?.do ?? children}
							</button>
						</div>
					</form>
				</dialog>
			)}
			<Problem>{problem}</Problem>
		</>
	);
}
