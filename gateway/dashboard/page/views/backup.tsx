/** Link that downloads a backup; absent if the gateway has no backups or the person lacks the permission. */

import { useHasRoute, useTopic } from "../app/hooks.js";
import { Panel } from "../parts/panel.js";

export function Backup() {
	const { person } = useTopic("link");
	if (!useHasRoute(person?.role === "monitor" ? "GET /api/backup" : undefined)) return null;
	return (
		<Panel
			title="Backup"
			look="stack"
			actions={
				<a class="button" href="api/backup" download>
					Download backup
				</a>
			}
		>
			<p class="hint">
				Devices, labels, rollouts, schedules, sounds and tokens, but no firmware images. Keep it secret.
				Restore it with <code>npm run restore</code>.
			</p>
		</Panel>
	);
}
