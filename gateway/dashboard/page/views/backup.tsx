/** Link that downloads a backup; absent if the gateway has no backups or the person lacks the permission. */

import { useHasRoute, useTopic } from "../app/hooks.js";
import { Panel } from "../parts/panel.js";

export function Backup() {
	const { person } = useTopic("link");
	if (!useHasRoute(person?.role === "monitor" ? "GET /api/backup" : undefined)) return null;
	return (
		<Panel title="Backup">
			<p class="hint">
				Contains tokens, devices, labels, rollouts, schedules and sounds, but no firmware images. Keep it
				safe, since it contains the tokens. Restore it with <code>npm run restore</code>.
			</p>
			<div class="actions">
				<a class="button" href="api/backup" download>
					Download backup
				</a>
			</div>
		</Panel>
	);
}
