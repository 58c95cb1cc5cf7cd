/** Takes a virtual device's power away for a moment. */

import { useState } from "preact/hooks";
import { ask, messageOf } from "../../../gateway/api/client/request.js";
import { Problem } from "../../../gateway/dashboard/page/parts/problem.js";

/** @param path of the board */
export function PowerCut({ path }: { path: string }) {
	const [isCutting, setCutting] = useState(false);
	const [problem, setProblem] = useState("");
	const cut = async () => {
		setProblem("");
		setCutting(true);
		try {
			await ask(`${path}/power-cut`, { method: "POST" });
		} catch (error) {
			setProblem(messageOf(error));
		}
		setCutting(false);
	};
	return (
		<>
			<div class="actions">
				<button type="button" disabled={isCutting} onClick={cut}>
					Cut its power for a moment
				</button>
			</div>
			<Problem>{problem}</Problem>
		</>
	);
}
