/** Button that plays the speakers of devices in this browser. */

import { useState } from "preact/hooks";
import { messageOf } from "../../../gateway/api/client/request.js";
import { Button } from "../../../gateway/dashboard/page/parts/button.js";
import type { Speaker } from "./speaker.js";

export function HearIt({ speakers }: { readonly speakers: readonly Speaker[] }) {
	const [isOn, setOn] = useState(speakers.some((speaker) => speaker.isOn));
	const toggle = async () => {
		try {
			for (const speaker of speakers)
				if (isOn) speaker.turnOff();
				else if (!speaker.isOn) await speaker.turnOn();
		} catch (error) {
			for (const speaker of speakers) speaker.turnOff();
			throw new Error(`Playback failed: ${messageOf(error)}`);
		} finally {
			setOn(speakers.some((speaker) => speaker.isOn));
		}
	};
	return (
		<div class="actions">
			<Button isPressed={isOn} onClick={toggle}>
				Listen in this browser
			</Button>
		</div>
	);
}
