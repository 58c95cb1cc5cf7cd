/** Parts of the host common to all ESP32 targets. */

import UDP from "embedded:io/socket/udp";
import { CrashMemory, TraceMemory } from "board/crash";
import { SntpQuery, SystemResolver } from "board/network";
import { PatchDecoder } from "board/patch";
import { ConsolePort } from "board/serial";
import { PlainHttp, PlainWebSocket, SecureHttp, SecureWebSocket } from "board/sockets";
import { SettingsStore } from "board/storage";
import { SystemFacts } from "board/system";
import { BootState, RunningImage, UpdateSlot } from "board/update";
import { Sha256 } from "moddable/sha256";
import type { Host, WiFiPart } from "../../device/host.js";

export function createServices(
	wifi: WiFiPart,
): Pick<Host, "system" | "network" | "update" | "crash" | "trace" | "serial" | "digest" | "storage"> {
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
			udp: UDP,
		},
		update: { slot: UpdateSlot, running: RunningImage, boot: BootState, patchDecoder: PatchDecoder },
		crash: CrashMemory,
		trace: TraceMemory,
		serial: ConsolePort,
		digest: { sha256: Sha256 },
		storage: { settings: SettingsStore },
	};
}
