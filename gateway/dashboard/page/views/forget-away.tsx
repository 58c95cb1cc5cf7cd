/** Removes devices that have been away for long. */

import { useState } from "preact/hooks";
import { ask } from "../../../api/client/request.js";
import { plural } from "../../../api/client/words.js";
import { useTopic } from "../app/hooks.js";
import { Button } from "../parts/button.js";
import { Field } from "../parts/field.js";
import { forgetQuestion } from "./fleet-actions.js";

/** How many devices. */
interface Forgotten {
	readonly forgotten: number;
	/** They could not be removed. */
	readonly kept: number;
	/** There was no time for them: the same request goes on. */
	readonly left: number;
}

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
		const path = `api/devices?awayDays=${days}`;
		for (let total = 0; ; ) {
			const { forgotten, kept, left } = await ask<Forgotten>(path, { method: "DELETE" });
			total += forgotten;
			const failed =
				kept > 0 ? ` ${plural(kept, "device")} could not be forgotten; see the gateway's log.` : "";
			const more = left > 0 ? ` ${plural(left, "device")} left…` : "";
			setAnswer(`${plural(total, "device")} forgotten.${failed}${more}`);
			if (left === 0 || forgotten === 0) return;
		}
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
