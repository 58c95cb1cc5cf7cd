/** Removes devices that have been away for long. */

import { useState } from "preact/hooks";
import { ask } from "../../../api/client/request.js";
import { plural } from "../../../api/client/words.js";
import { useTopic } from "../app/hooks.js";
import { Button } from "../parts/button.js";
import { Field } from "../parts/field.js";
import { forgetQuestion } from "./fleet-actions.js";

const dayMs = 24 * 60 * 60 * 1000;

export function ForgetAway() {
	const { fleet, clock } = useTopic("list");
	const [text, setText] = useState("30");
	const [answer, setAnswer] = useState("");
	const away = fleet.all().filter(({ session }) => !session.connected);
	if (away.length === 0 && answer === "") return null;
	const days = Math.min(3650, Math.max(1, Math.round(Number(text) || 1)));
	const count = away.filter(({ heardAt }) => heardAt < clock.now() - days * dayMs).length;
	const forget = async () => {
		const { forgotten, kept } = await ask<{ forgotten: number; kept: number }>(
			`api/devices?awayDays=${days}`,
			{ method: "DELETE" },
		);
		const failed =
			kept > 0 ? ` ${plural(kept, "device")} could not be forgotten; see the gateway's log.` : "";
		setAnswer(`${plural(forgotten, "device")} forgotten.${failed}`);
	};
	return (
		<details class="housekeeping">
			<summary>{plural(away.length, "device")} away</summary>
			<div class="actions of-fields">
				<Field
					label="Away for longer than, in days"
					type="number"
					range={[1, 3650]}
					value={text}
					onInput={setText}
				/>
				<Button isChange disabled={count === 0} question={forgetQuestion(count)} onClick={forget}>
					Forget {plural(count, "device")}
				</Button>
				<p class="hint" role="status">
					{answer}
				</p>
			</div>
		</details>
	);
}
