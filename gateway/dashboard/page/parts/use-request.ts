/** A request that a person makes: whether it goes on, and why it was not done. */

import { useState } from "preact/hooks";
import { messageOf } from "../../../api/client/request.js";

export interface Request {
	/** @param action fails with an error that says what to change. @returns whether it was done */
	readonly run: (action: () => Promise<unknown>) => Promise<boolean>;
	readonly isBusy: boolean;
	/** Empty: none. */
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
