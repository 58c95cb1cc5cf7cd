/** Button with an optional confirmation. It runs an asynchronous action and shows its error beside it. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Action } from "../../../api/commands.js";
import { useDenial, useMayChange } from "../app/hooks.js";
import { Ask, type Question } from "./dialog.js";
import { Problem, useRequest } from "./problem.js";

interface ButtonProps {
	/** Classes: primary, quiet, small. */
	readonly look?: string;
	/** Accessible name and tooltip, if the text alone is ambiguous. */
	readonly label?: string | undefined;
	readonly disabled?: boolean;
	/** Enables the button for monitors only, while connected. */
	readonly isChange?: boolean;
	/** Enables the button for roles that may perform this action, while connected. */
	readonly action?: Action;
	readonly isPressed?: boolean | undefined;
	readonly isOpen?: boolean;
	/** Confirmation to show first; false acts immediately. */
	readonly question?: Question | false | undefined;
	/** Action, whose error is shown. Further clicks are ignored while it runs. */
	readonly onClick: () => unknown;
	readonly children: ComponentChildren;
}

export function Button(props: ButtonProps) {
	const { look = "", label, action, isPressed, isOpen, question, onClick, children } = props;
	const { isChange = action !== undefined } = props;
	const mayChange = useMayChange(action);
	const denial = useDenial(action);
	const disabled = props.disabled || (isChange && !mayChange);
	const { run, isBusy, problem } = useRequest();
	const [isAsking, setIsAsking] = useState(false);
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
				title={(isChange && denial) || label}
				aria-pressed={isPressed}
				aria-expanded={isOpen}
				onClick={question ? () => setIsAsking(true) : act}
			>
				{children}
			</button>
			{question && isAsking && (
				<Ask
					question={question}
					verb={children}
					disabled={disabled}
					onYes={act}
					onClose={() => setIsAsking(false)}
				/>
			)}
			<Problem>{problem}</Problem>
		</>
	);
}
