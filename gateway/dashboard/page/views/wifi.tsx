/** Wi-Fi networks and access points with their devices, weakest signal and reconnects in 24 hours. */

import { useMemo, useState } from "preact/hooks";
import { plural } from "../../../api/client/words.js";
import { request } from "../app/gateway.js";
import { useResource } from "../app/hooks.js";
import { type AccessPoint, networksIn } from "../model/wifi.js";
import { Panel } from "../parts/panel.js";
import { Strength } from "../parts/presence.js";
import { Problem } from "../parts/problem.js";
import { Rows } from "../parts/rows.js";

const readEveryMs = 10_000;

export function WiFi() {
	const wifi = useResource(() => request("GET /api/wifi"), readEveryMs);
	const devices = wifi.value?.devices;
	const networks = useMemo(() => networksIn(devices ?? []), [devices]);
	return (
		<div class="wifi">
			<p class="hint" role="status">
				{devices && plural(networks.length, "Wi-Fi network")}
			</p>
			<Problem>{wifi.problem}</Problem>
			{networks.map(({ ssid, accessPoints }) => (
				<Panel key={ssid} title={ssid || "No name"}>
					{accessPoints.map((accessPoint) => (
						<AccessPointDevices key={accessPoint.bssid ?? ""} accessPoint={accessPoint} />
					))}
				</Panel>
			))}
		</div>
	);
}

function AccessPointDevices({ accessPoint }: { accessPoint: AccessPoint }) {
	const { bssid, channel, devices, weakest, reconnects } = accessPoint;
	const [isOpen, setIsOpen] = useState(false);
	const name = bssid ?? "Unknown access point";
	return (
		<details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
			<summary>
				<strong>{name}</strong>{" "}
				<span class="hint">
					{channel !== null && `channel ${channel}, `}
					{plural(devices.length, "device")}, {reconnectText(reconnects)}, weakest
				</span>{" "}
				<Strength rssi={weakest} />
			</summary>
			{isOpen && (
				<div class="device-list">
					<Rows label={`Devices of ${name}`} items={devices}>
						{({ rssi, reconnects: count, lastLoss }) => (
							<>
								<Strength rssi={rssi} />
								<span class="hint">
									{reconnectText(count)}
									{lastLoss !== null && `, last disconnect: ${lastLoss.replaceAll("_", " ")}`}
								</span>
							</>
						)}
					</Rows>
				</div>
			)}
		</details>
	);
}

function reconnectText(count: number): string {
	return `${plural(count, "reconnect")} in 24 h`;
}
