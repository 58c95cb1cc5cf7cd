/** Removes devices that have been away for long. */

import { useState } from "preact/hooks";
import { ask, messageOf } from "../../../api/client/request.js";
import { plural } from "../../../api/client/words.js";
import { topics } from "../app/app.js";
import { useApp, useIsLive, useTopic } from "../app/hooks.js";
import { Confirm } from "../parts/confirm.js";
import { Problem } from "../parts/problem.js";
import { forgetText } from "./fleet-actions.js";

const dayMs = 24 * 60 * 60 * 1000;

export function ForgetAway() {
	const { fleet } = useApp();
	useTopic(topics.list);
	const isLive = useIsLive();
	const [text, setText] = useState("30");
	const [answer, setAnswer] = useState("");
	const [problem, setProblem] = useState("");
	const away = fleet.all().filter(({ session }) => !session.connected);
	if (away.length === 0 && answer === "" && problem === "") return null;
	const days = Math.min(3650, Math.max(1, Math.round(Number(text) || 1)));
	const count = away.filter(({ heardAt }) => heardAt < Date.now() - days * dayMs).length;
	const forget = async () => {
		setProblem("");
		try {
			const { forgotten, kept } = await ask<{ forgotten: number; kept: number }>(
				`api/devices?awayDays=${days}`,
				{ method: "DELETE" },
			);
			const failed =
				kept > 0 ? ` ${plural(kept, "device")} could not be forgotten; see the gateway's log.` : "";
			setAnswer(`${plural(forgotten, "device")} forgotten.${failed}`);
		} catch (error) {
			setProblem(messageOf(error));
		}
	};
	return (
		<details class="housekeeping">
			<summary>{plural(away.length, "device")} away</summary>
			<div class="actions">
				<label class="choice">
					<span>Away for longer than, in days</span>
					<input
						type="number"
						min={1}
						max={3650}
						value={text}
						onInput={({ currentTarget }) => setText(currentTarget.value)}
					/>
				</label>
				<Confirm
					label={`Forget ${plural(count, "device")}`}
					title={`Forget ${plural(count, "device")}?`}
					disabled={!isLive || count === 0}
					onConfirm={forget}
				>
					<p>{forgetText}</p>
				</Confirm>
				<p class="hint" role="status">
					{answer}
				</p>
				<Problem>{problem}</Problem>
			</div>
		</details>
	);
}
