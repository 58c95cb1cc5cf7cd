/** The settings, in parts, which the address names: of all devices, their Wi-Fi, and people. */

import { useTopic } from "../app/hooks.js";
import { FleetSettings } from "./fleet-settings.js";
import { People } from "./people.js";
import { WiFi } from "./wifi.js";

const parts = [
	["devices", "Devices", FleetSettings],
	["wifi", "Wi-Fi", WiFi],
	["people", "People", People],
] as const;

export function SettingsView({ part }: { part: string }) {
	const { person } = useTopic("link");
	const shown = parts.filter(([name]) => name === "people" || person?.role !== "user");
	const [current, , Part = People] = shown.find(([name]) => name === part) ?? shown[0] ?? [];
	return (
		<div class="column">
			<nav class="tabs" aria-label="Parts of the settings">
				{shown.map(([name, title]) => (
					<a key={name} href={`#/settings/${name}`} aria-current={name === current ? "page" : undefined}>
						{title}
					</a>
				))}
			</nav>
			<Part />
		</div>
	);
}
