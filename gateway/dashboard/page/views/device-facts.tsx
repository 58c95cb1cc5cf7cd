/** Facts and health of a device: everything of its report that no other view shows. */

import type { StateReport } from "../../../../device/protocol/messages.js";
import type { Entry } from "../../../api/client/fleet.js";
import { bytes, duration, when } from "../../../api/client/words.js";
import { resetText } from "../../../api/statuses.js";
import { memoryText, signalText } from "../model/health-words.js";
import type { DeviceDetails } from "../model/responses.js";
import { Bounded } from "../parts/bounded.js";
import { capital } from "../parts/presence.js";

interface FactsProps {
	readonly entry: Entry;
	readonly state: StateReport;
	/** Undefined: not read yet. */
	readonly details: DeviceDetails | undefined;
}

type Fact = readonly [name: string, value: string, number?: string];

export function Facts({ entry: { session }, state, details }: FactsProps) {
	const { system, health, network } = state;
	const { min_free_heap_bytes: least, free_heap_bytes: free } = health;
	const { wifi_rssi: rssi } = network;
	const facts: readonly Fact[] = [
		["Running for", duration(health.uptime_seconds), `last start: ${resetText(health.reset_reason)}`],
		["Memory", memoryText(least), `${bytes(free)} free, never less than ${bytes(least)}`],
		network.wifi_connected
			? ["Wi-Fi", network.wifi_ssid, `${signalText(rssi)} signal, ${rssi} dBm`.replace("-", "−")]
			: ["Wi-Fi", "not connected"],
		["Address", network.ip_address],
		...(details ? [["First seen", when(details.firstSeenAt)] as const] : []),
	];
	const technical: readonly Fact[] = [
		["MAC", system.mac_address],
		["Seen from", session.remoteAddress],
		["Framework", system.idf_version],
		["Processor", `${system.cpu_freq_mhz} MHz`],
		["Flash", `${system.flash_size_mb} MB, PSRAM ${system.psram_size_mb} MB`],
		["Its clock", when(state.timestamp)],
		["Reset reason", health.reset_reason],
		["Session", session.sessionId],
	];
	return (
		<section class="panel facts-panel" aria-label="About it">
			<h2>About it</h2>
			<FactList facts={facts} />
			<details class="rest">
				<summary>Technical details</summary>
				<FactList facts={technical} />
			</details>
		</section>
	);
}

function FactList({ facts }: { facts: readonly Fact[] }) {
	return (
		<dl class="about">
			{facts.map(([name, value, number]) => (
				<div key={name}>
					<dt>{name}</dt>
					<dd>
						<span>{value}</span>
						{number !== undefined && <small>{number}</small>}
					</dd>
				</div>
			))}
		</dl>
	);
}

/** Its restarts and versions, as the gateway has recorded them. */
export function Past({ details: { resets, versions } }: { details: DeviceDetails }) {
	return (
		<>
			<section class="panel" aria-label="Restarts">
				<h2>Restarts</h2>
				<Bounded label="Restarts, the latest first" items={[...resets].reverse()}>
					{({ at, reason }) => (
						<li key={at} class={isFailure(reason) ? "failed" : ""}>
							<time dateTime={at}>{when(at)}</time>
							<span>{capital(resetText(reason))}</span>
						</li>
					)}
				</Bounded>
			</section>
			<section class="panel" aria-label="Versions">
				<h2>Versions</h2>
				<Bounded label="Versions, the latest first" items={[...versions].reverse()}>
					{({ at, version }) => (
						<li key={at}>
							<time dateTime={at}>{when(at)}</time>
							<span>{version}</span>
						</li>
					)}
				</Bounded>
			</section>
		</>
	);
}

function isFailure(reason: string): boolean {
	return /PANIC|WDT|BROWNOUT|GLITCH|LOCKUP/.test(reason);
}
