/** Summaries of uplinks; a report is summarized by its changes from the previous one. */

import type { StateReport, Uplink, UplinkType } from "../../../../device/protocol/messages.js";
import { entryOf, isRecord } from "../../../../device/protocol/schema.js";

export const uplinkWords: Readonly<Record<UplinkType, string>> = {
	state_report: "Report",
	ota_progress: "Update",
	ota_complete: "Update complete",
	ota_error: "Update failed",
	settings_result: "Settings",
	sound_update: "Sound",
	command_error: "Rejected",
	crash_report: "Crash report",
	log: "Live log",
};

/** Fields that change in every report, or with others. */
const unmentioned: readonly string[] = [
	"timestamp",
	"health.uptime_seconds",
	"peripherals.audio.unmuted_volume",
];
const maxShown = 3;

type Change = readonly [path: string, from: unknown, to: unknown];

/** Lists added and changed values by paths such as `network.wifi_rssi`. */
function changesIn(before: unknown, after: unknown, path = ""): readonly Change[] {
	if (!isRecord(after)) return before === after ? [] : [[path, before, after]];
	return Object.entries(after).flatMap(([name, value]) =>
		changesIn(isRecord(before) ? entryOf(before, name) : undefined, value, path ? `${path}.${name}` : name),
	);
}

/** @param before previous report; null for the first one */
export function uplinkText(uplink: Uplink, before: StateReport | null): string {
	switch (uplink.type) {
		case "state_report":
			return before ? changesText(before, uplink) : "first report";
		case "ota_progress":
			return `${uplink.percent} %`;
		case "ota_complete":
			return "installed, restarting";
		case "ota_error":
			return uplink.reason;
		case "settings_result":
			return uplink.outcome === "kept" ? "saved" : `previous settings restored: ${uplink.reason ?? "?"}`;
		case "sound_update":
			return `${uplink.id}: ${uplink.state}${uplink.reason ? `, ${uplink.reason}` : ""}`;
		case "command_error":
			return `${uplink.command}: ${uplink.message}`;
		case "crash_report":
			return uplink.crash?.message ?? "no crash";
		case "log":
			return uplink.lines.trimEnd();
	}
}

function changesText(before: StateReport, after: StateReport): string {
	const news = changesIn(before, after).filter(([path]) => !unmentioned.includes(path));
	if (news.length === 0) return "no change";
	const texts = news.slice(0, maxShown).map(([path, from = "–", to]) => `${nameOf(path)} ${from} → ${to}`);
	const rest = news.length - texts.length;
	return rest > 0 ? `${texts.join(", ")} and ${rest} more` : texts.join(", ");
}

/** "wifi rssi" */
function nameOf(path: string): string {
	return path.slice(path.lastIndexOf(".") + 1).replaceAll("_", " ");
}
