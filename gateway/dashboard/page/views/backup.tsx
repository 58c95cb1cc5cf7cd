/** A link that downloads a back-up of the gateway; nothing where it makes none, or for a person who may not have it. */

import { useIsThere, useTopic } from "../app/hooks.js";
import { Panel } from "../parts/panel.js";

const path = "api/backup";

export function Backup() {
	const { person } = useTopic("link");
	if (!useIsThere(person?.role === "monitor" ? path : undefined)) return null;
	return (
		<Panel title="Back-up">
			<p class="hint">
				Tokens, devices, labels, roll-outs, schedules and sounds, as they are now; not the images of releases.
				Keep it safe: who has it can use the tokens. <code>npm run restore</code> brings it back.
			</p>
			<div class="actions">
				<a class="button" href={path} download>
					Download a back-up
				</a>
			</div>
		</Panel>
	);
}
