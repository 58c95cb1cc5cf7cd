/** Connected devices with their Wi-Fi network and access point, the weakest signal first. */

import { plural } from "../../../api/client/words.js";
import { request } from "../app/gateway.js";
import { useResource } from "../app/hooks.js";
import { Strength } from "../parts/presence.js";
import { Problem } from "../parts/problem.js";
import { Rows } from "../parts/rows.js";

const readEveryMs = 10_000;

export function WiFi() {
	const { value, problem } = useResource(() => request("GET /api/wifi"), readEveryMs);
	const devices = value?.devices ?? [];
	return (
		<>
			<p class="hint" role="status">
				{value && `${plural(devices.length, "device")}, the weakest signal first`}
			</p>
			<Problem>{problem}</Problem>
			<section class="panel">
				<Rows label="Wi-Fi" items={devices}>
					{({ ssid, bssid, channel, rssi, reconnects, lastLoss }) => (
						<>
							<Strength rssi={rssi} />
							<span class="hint">
								{[
									ssid,
									bssid,
									channel !== null && `channel ${channel}`,
									`${plural(reconnects, "reconnect")} in 24 h`,
									lastLoss !== null && `last disconnect: ${lastLoss.replaceAll("_", " ")}`,
								]
									.filter(Boolean)
									.join(" · ")}
							</span>
						</>
					)}
				</Rows>
			</section>
		</>
	);
}
