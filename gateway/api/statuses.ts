/** Statuses of updates and rollouts and their display texts, for the gateway, the page and the terminal. */

import { entryOf } from "../../device/protocol/schema.js";

/** Statuses of an update in progress. */
const activeUpdates = ["pending", "downloading", "rebooting"] as const;
export const updateOutcomes = ["updated", "rolled_back", "failed"] as const;
export const otaStatuses = ["idle", ...activeUpdates, ...updateOutcomes] as const;
export type OtaStatus = (typeof otaStatuses)[number];

export function isActiveUpdate(status: OtaStatus): boolean {
	return isOneOf(activeUpdates, status);
}

export const updateWords: Readonly<Record<OtaStatus, string>> = {
	idle: "",
	pending: "requested",
	downloading: "downloading",
	rebooting: "restarting",
	updated: "updated",
	rolled_back: "rolled back",
	failed: "failed",
};

export const rolloutStatuses = ["scheduled", "running", "paused", "finished", "cancelled"] as const;
export type RolloutStatus = (typeof rolloutStatuses)[number];
export const pauseReasons = ["operator", "failures", "approval"] as const;

export function isOver({ status }: { readonly status: RolloutStatus }): boolean {
	return status === "finished" || status === "cancelled";
}

/** Statuses in which a device occupies one of the slots limited by `concurrency`. */
export const slotStatuses = ["offered", "downloading", "rebooting", "soaking"] as const;
/** Counted against a group's error threshold; `retry` queues them again. */
export const failureStatuses = ["failed", "rolled_back", "timed_out"] as const;
/** Statuses of a device in a rollout, in display order. */
export const deviceStatuses = [
	...failureStatuses,
	"rejected",
	"queued",
	...slotStatuses,
	"succeeded",
	"already_installed",
	"removed",
	"cancelled",
] as const;
export type DeviceStatus = (typeof deviceStatuses)[number];

export const deviceWords: Readonly<Record<DeviceStatus, string>> = {
	failed: updateWords.failed,
	rolled_back: updateWords.rolled_back,
	timed_out: "timed out",
	rejected: "rejected",
	queued: "waiting",
	offered: "offered",
	downloading: updateWords.downloading,
	rebooting: updateWords.rebooting,
	soaking: "watching",
	succeeded: updateWords.updated,
	already_installed: "already up to date",
	removed: "forgotten",
	cancelled: "not started",
};

/** States of a device in a command to many devices, in display order: problems first. */
export const commandStates = [
	"failed",
	"unsupported",
	"away",
	"cancelled",
	"asked",
	"waiting",
	"done",
] as const;
export type CommandState = (typeof commandStates)[number];

/** Display texts of reset reasons. */
const resets: Readonly<Record<string, string>> = {
	POWERON_RESET: "power on",
	EXT_RESET: "reset button",
	SW_RESET: "by firmware",
	PANIC_RESET: "crashed",
	INT_WDT_RESET: "hung (watchdog)",
	TASK_WDT_RESET: "hung (watchdog)",
	WDT_RESET: "hung (watchdog)",
	DEEPSLEEP_RESET: "woken from sleep",
	BROWNOUT_RESET: "supply voltage too low",
	USB_RESET: "reset by USB",
	JTAG_RESET: "reset by a debugger",
	PWR_GLITCH_RESET: "supply voltage unsteady",
	CPU_LOCKUP_RESET: "processor locked up",
	UNKNOWN_RESET: "unknown reason",
};

/** Returns the text of a reset reason, such as "power on"; unknown ones in lower case. */
export function resetText(reason: string): string {
	return entryOf(resets, reason) ?? reason.toLowerCase().replaceAll("_", " ");
}

/** Returns an object with 0 for each name. */
export function zeros<N extends string>(names: readonly N[]): Record<N, number>;
export function zeros(names: readonly string[]): Record<string, number> {
	return Object.fromEntries(names.map((name) => [name, 0]));
}

export function isOneOf<T extends string>(list: readonly T[], value: string): value is T {
	return list.some((status) => status === value);
}
