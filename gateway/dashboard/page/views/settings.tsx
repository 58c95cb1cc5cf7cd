/** Settings view with tabs: people, devices, Wi-Fi and audit log. */

import type { Person } from "../../../api/person.js";
import { useHasRoute, useTopic } from "../app/hooks.js";
import { PageHead } from "../parts/page-head.js";
import { AuditLog } from "./audit-log.js";
import { FleetSettings } from "./fleet-settings.js";
import { People } from "./people.js";
import { WiFi } from "./wifi.js";

const parts = [
	["people", "People", People],
	["devices", "Devices", FleetSettings],
	["wifi", "Wi-Fi", WiFi],
	["changes", "Audit log", AuditLog],
] as const;

export function SettingsView({ part }: { part: string }) {
	const { person } = useTopic("link");
	return (
		<>
			<PageHead title="Settings" />
			{person && <Parts role={person.role} part={part} />}
		</>
	);
}

function Parts({ role, part }: Pick<Person, "role"> & { readonly part: string }) {
	const isUser = role === "user";
	// A gateway without an audit log responds with 404.
	const hasAudit = useHasRoute(isUser ? undefined : "GET /api/audit") ?? part === "changes";
	const shown = parts.filter(([name]) => name === "people" || (!isUser && (name !== "changes" || hasAudit)));
	const [current, , Part = People] = shown.find(([name]) => name === part) ?? shown[0] ?? [];
	return (
		<div class="column">
			{shown.length > 1 && (
				<nav class="tabs" aria-label="Parts of the settings">
					{shown.map(([name, title]) => (
						<a key={name} href={`#/settings/${name}`} aria-current={name === current ? "page" : undefined}>
							{title}
						</a>
					))}
				</nav>
			)}
			<Part />
		</div>
	);
}
