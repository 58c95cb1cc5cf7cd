/** Lets this browser play what the speakers of devices get. */

import { useState } from "preact/hooks";
import { messageOf } from "../../../gateway/api/client/request.js";
import { Problem } from "../../../gateway/dashboard/page/parts/problem.js";
import type { Speaker } from "./speaker.js";

export function HearIt({ speakers }: { readonly speakers: readonly Speaker[] }) {
	const [isOn, setOn] = useState(speakers.some((speaker) => speaker.isOn));
	const [problem, setProblem] = useState("");
	const toggle = async () => {
		setProblem("");
		try {
			for (const speaker of speakers)
				if (isOn) speaker.turnOff();
				else if (!speaker.isOn) await speaker.turnOn();
		} catch (error) {
			for (const speaker of speakers) speaker.turnOff();
			setProblem(`This browser plays no sound: ${messageOf(error)}`);
		}
		setOn(speakers.some((speaker) => speaker.isOn));
	};
	return (
		<>
			<div class="actions">
				<button type="button" aria-pressed={isOn} onClick={toggle}>
					Hear it here
				</button>
			</div>
			<Problem>{problem}</Problem>
		</>
	);
}
