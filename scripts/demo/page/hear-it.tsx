/** Button that plays the speaker of a device in this browser. */

import { useState } from "preact/hooks";
import { messageOf } from "../../../device/message-of.js";
import { Button } from "../../../gateway/dashboard/page/parts/button.js";
import type { Speaker } from "./speaker.js";

export function HearIt({ speaker }: { readonly speaker: Speaker }) {
	const [isOn, setOn] = useState(speaker.isOn);
	const toggle = async () => {
		try {
			if (isOn) speaker.turnOff();
			else await speaker.turnOn();
			setOn(!isOn);
		} catch (error) {
			speaker.turnOff();
			throw new Error(`Playback failed: ${messageOf(error)}`);
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
