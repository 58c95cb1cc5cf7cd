/** Examples of each uplink and monitor message; the tests send them to a running gateway. */

import type { UplinkOf, UplinkType } from "../../device/protocol/messages.js";
import { idOf } from "../../device/protocol/models.js";
import { commandDocuments } from "../../gateway/api/commands.js";
import type { MonitorMessageOf, MonitorMessageType } from "../../gateway/sockets/monitor-commands.js";
import { sampleReport } from "./sample-report.js";

const macAddress = "7c:df:a1:a1:b2:c3";
const deviceId = idOf("DEV-1", macAddress);
const { system, ...sample } = sampleReport("DEV-1");
const report = { ...sample, deviceId, system: { ...system, mac_address: macAddress } };

export const uplinkExamples = {
	state_report: report,
	ota_progress: { type: "ota_progress", percent: 25, bytes_written: 262_144, bytes_total: 1_048_576 },
	ota_complete: { type: "ota_complete" },
	ota_error: { type: "ota_error", reason: "the server answered 404" },
	settings_result: {
		type: "settings_result",
		deviceId,
		outcome: "returned",
		reason: "the gateway rejected the token (401)",
	},
	sound_update: {
		type: "sound_update",
		deviceId,
		id: "dinner-1",
		state: "played",
		underruns: 0,
		heard_ms: 4_200,
	},
	command_error: {
		type: "command_error",
		deviceId,
		command: "set_volume",
		code: "invalid_value",
		message: "set_volume: value must be an integer from 0 to 100",
	},
	crash_report: {
		type: "crash_report",
		deviceId,
		crash: {
			id: "5f0c21b7",
			kind: "exception",
			message: "TypeError: undefined: cannot read property play",
			file: "device/rules.ts",
			line: 31,
			stack: "at onButton (device/rules.ts:31)\nat settle (device/peripherals/buttons.ts:54)",
			firmware_version: "1.4.0",
			uptime_seconds: 86_400,
			trace: "Wi-Fi connected\ngateway connected\n",
		},
	},
	log: { type: "log", deviceId, seq: 1, dropped: 0, lines: "gateway connected\n" },
} as const satisfies { readonly [T in UplinkType]: UplinkOf<T> };

export const monitorExamples: { readonly [T in MonitorMessageType]: MonitorMessageOf<T> } = {
	boot_device: { type: "boot_device", targetId: deviceId, requestId: "1" },
	control_device: {
		type: "control_device",
		targetId: deviceId,
		payload: commandDocuments.set_volume.example,
		requestId: "2",
	},
	trigger_ota: { type: "trigger_ota", targetId: deviceId, version: "latest", requestId: "3" },
};
