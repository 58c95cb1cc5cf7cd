/** What every ESP32 offers the firmware besides its peripherals, whatever carries its network. */

import { BootState } from "board/boot-state";
import { PlainHttp, SecureHttp } from "board/http-clients";
import { SettingsStore } from "board/settings-store";
import { SntpQuery } from "board/sntp-query";
import { SystemFacts } from "board/system-facts";
import { SystemResolver } from "board/system-resolver";
import { UpdateSlot } from "board/update-slot";
import { PlainWebSocket, SecureWebSocket } from "board/web-sockets";
import { Sha256 } from "moddable/sha256";
import type { Host, WiFiPart } from "../../device/host.js";

export function createServices(
	wifi: WiFiPart,
): Pick<Host, "system" | "network" | "update" | "digest" | "storage"> {
	return {
		system: SystemFacts,
		network: {
			wifi,
			dns: SystemResolver,
			ws: PlainWebSocket,
			wss: SecureWebSocket,
			http: PlainHttp,
			https: SecureHttp,
			time: SntpQuery,
		},
		update: { slot: UpdateSlot, boot: BootState },
		digest: { sha256: Sha256 },
		storage: { settings: SettingsStore },
	};
}
