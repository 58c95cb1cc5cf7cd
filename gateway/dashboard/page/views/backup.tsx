/** Link that downloads a backup; absent if the gateway has no backups or the person lacks the permission. */

import { useHasRoute, useTopic } from "../app/hooks.js";
import { Panel } from "../parts/panel.js";

export function Backup() {
	const { person } = useTopic("link");
	if (!useHasRoute(person?.role === "monitor" ? "GET /api/backup" : undefined)) return null;
	return (
		<Panel title="Backup">
			<p class="hint">
				Tokens, devices, labels, rollouts, schedules and sounds, as they are now; not the images of releases.
				Keep it safe: who has it can use the tokens. <code>npm run restore</code> brings it back.
			</p>
			<div class="actions">
				<a class="button" href="api/backup" download>
					Download backup
				</a>
			</div>
		</Panel>
	);
}
