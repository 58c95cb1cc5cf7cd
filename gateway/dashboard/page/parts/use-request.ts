/** State of a request that a person starts. */

import { useState } from "preact/hooks";
import { messageOf } from "../../../api/client/request.js";

export interface Request {
	/** Runs an action and stores the message of its error. @returns whether it succeeded */
	readonly run: (action: () => Promise<unknown>) => Promise<boolean>;
	readonly isBusy: boolean;
	/** Error message; empty without an error. */
	readonly problem: string;
}

export function useRequest(): Request {
	const [isBusy, setIsBusy] = useState(false);
	const [problem, setProblem] = useState("");
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
