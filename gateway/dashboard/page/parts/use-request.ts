/** State of a request that a person starts. */

import { useState } from "preact/hooks";
import { messageOf } from "../../../../device/message-of.js";

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
