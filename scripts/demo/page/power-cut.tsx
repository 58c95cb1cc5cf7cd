/** Takes a virtual device's power away for a moment. */

import { ask } from "../../../gateway/api/client/request.js";
import { Button } from "../../../gateway/dashboard/page/parts/button.js";

/** @param path of the board */
export function PowerCut({ path }: { path: string }) {
	return (
		<div class="actions">
			<Button onClick={() => ask(`${path}/power-cut`, { method: "POST" })}>Cut its power for a moment</Button>
		</div>
	);
}
