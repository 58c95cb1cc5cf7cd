/** A request that a person makes: whether it goes on, and why it was not done. */

import { useState } from "preact/hooks";
import { messageOf } from "../../../api/client/request.js";

export interface Request {
	/**
	 * @param action fails with an error, or returns why it was not done
	 * @returns whether it was done
	 */
	readonly run: (action: () => Promise<unknown>) => Promise<boolean>;
	readonly isBusy: boolean;
	/** Empty: none. */
	readonly problem: string;
	readonly setProblem: (problem: string) => void;
}

export function useRequest(): Request {
	const [isBusy, setIsBusy] = useState(false);
	const [problem, setProblem] = useState("");
	const run = async (action: () => Promise<unknown>) => {
		setIsBusy(true);
		setProblem("");
		const reason = await action().catch(messageOf);
		setIsBusy(false);
		if (typeof reason === "string") setProblem(reason);
		return typeof reason !== "string";
	};
	return { run, isBusy, problem, setProblem };
}
