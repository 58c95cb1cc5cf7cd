/** Error message, and the state of a request that a person starts. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { messageOf } from "../../../../device/message-of.js";

/** Error message. It is rendered even if empty, so that screen readers announce a new message. */
export function Problem({ id, children }: { readonly id?: string; readonly children: ComponentChildren }) {
	return (
		<p class="problem" id={id} role="alert">
			{children}
		</p>
	);
}

export function useRequest() {
	const [isBusy, setIsBusy] = useState(false);
	/** Error message; empty without an error. */
	const [problem, setProblem] = useState("");
	/** Runs an action and stores the message of its error. @returns whether it succeeded */
	const run = async (action: () => Promise<unknown>) => {
		setIsBusy(true);
		setProblem("");
		try {
			await action();
			return true;
		} catch (error) {
			setProblem(messageOf(error));
			return false;
		} finally {
			setIsBusy(false);
		}
	};
	return { run, isBusy, problem };
}
