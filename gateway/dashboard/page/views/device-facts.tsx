/** Facts and health of a device that no other view shows. */

import type { StateReport } from "../../../../device/protocol/messages.js";
import type { Entry } from "../../../api/client/fleet.js";
import { age, bytes, duration, when } from "../../../api/client/words.js";
import { resetText } from "../../../api/statuses.js";
import { useApp, useHistory, useIsLive } from "../app/hooks.js";
import { memoryText, signalText } from "../model/health-text.js";
import { type Fact, FactList } from "../parts/fact-list.js";
import { Panel } from "../parts/panel.js";

export function Facts({ entry, state }: { entry: Entry; state: StateReport }) {
	const { clock } = useApp();
	const isLive = useIsLive();
	const { key, session, heardAt } = entry;
	const connection = isLive ? (session.connected ? "Connected" : "Offline") : "Unknown";
	const past = useHistory(key);
	const { system, health, network } = state;
	const { min_free_heap_bytes: least, free_heap_bytes: free } = health;
	const { wifi_rssi: rssi } = network;
	const facts: readonly Fact[] = [
		["Connection", connection, `heard ${age(clock.now() - heardAt)}`],
		["Uptime", duration(health.uptime_seconds), startText(health.reset_reason)],
		network.wifi_connected
			? ["Wi-Fi", network.wifi_ssid, `${signalText(rssi)} signal, ${rssi} dBm`.replace("-", "−")]
			: ["Wi-Fi", "offline"],
		["Memory", memoryText(least), `${bytes(free)} free, lowest ${bytes(least)}`],
		["Firmware", system.firmware_version],
		["Model", system.model],
		["ID", key],
		["Address", network.ip_address],
		...(past ? [["First seen", when(past.details.firstSeenAt)] as const] : []),
	];
	const technical: readonly Fact[] = [
		["MAC", system.mac_address],
		["Remote address", session.remoteAddress],
		...(system.image === undefined ? [] : [["Image", system.image] as const]),
		["Framework", system.idf_version],
		["Processor", `${system.cpu_freq_mhz} MHz`],
		["Flash", `${system.flash_size_mb} MB, PSRAM ${system.psram_size_mb} MB`],
		["Device clock", when(state.timestamp)],
		["Reset reason", health.reset_reason],
		["Session", session.sessionId],
	];
	return (
		<Panel title="Details" look="facts-panel">
			<FactList facts={facts} />
			<details class="rest">
				<summary>Technical details</summary>
				<FactList facts={technical} />
			</details>
		</Panel>
	);
}

function startText(reason: string): string {
	return reason === "SW_RESET" ? "Restarted by firmware" : `Last start: ${resetText(reason)}`;
}
