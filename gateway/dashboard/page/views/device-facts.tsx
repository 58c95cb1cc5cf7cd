/** What a device is: everything of its report that has no better place. */

import type { StateReport } from "../../../../device/protocol/messages.js";
import type { Entry } from "../model/fleet.js";
import { bytes, duration } from "../model/words.js";

export function Facts({ entry, state }: { entry: Entry; state: StateReport }) {
	const { system, health, network } = state;
	const { session } = entry;
	const wifi = network.wifi_connected ? network.wifi_ssid : "not connected";
	const facts: readonly (readonly [string, string])[] = [
		["Up", duration(health.uptime_seconds)],
		["Last restart", health.reset_reason],
		["Free heap", `${bytes(health.free_heap_bytes)}, at least ${bytes(health.min_free_heap_bytes)}`],
		["Wi-Fi", wifi],
		["Address", network.ip_address],
		["Seen from", session.remoteAddress],
		["MAC", system.mac_address],
		["Framework", system.idf_version],
		["Processor", `${system.cpu_freq_mhz} MHz`],
		["Flash", `${system.flash_size_mb} MB, PSRAM ${system.psram_size_mb} MB`],
		["Device's clock", state.timestamp],
		["Session", session.sessionId],
	];
	return (
		<section class="panel facts-panel" aria-label="About it">
			<h2>About it</h2>
			<dl class="about">
				{facts.map(([name, value]) => (
					<div key={name}>
						<dt>{name}</dt>
						<dd>{value}</dd>
					</div>
				))}
			</dl>
		</section>
	);
}
