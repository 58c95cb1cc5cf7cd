/** Scheduled announcements and the schedules of a gateway. */

import type { RequestBody } from "../../gateway/api/client/request.js";
import {
	actionText,
	dueText,
	lastText,
	localTime,
	placeText,
	whenText,
} from "../../gateway/api/client/times.js";
import type { Schedule, ScheduleRequest } from "../../gateway/api/schedule.js";
import { print, UsageError } from "../command-line/command.js";
import type { GatewayClient } from "../command-line/gateway-client.js";

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };
const mostSeconds = 7 * 86_400;
const dayMs = 86_400_000;

/** Delay in seconds, or local time. */
export type Later = { readonly in: number } | { readonly at: string };

/** @throws {UsageError} */
export function readLater(after: string | undefined, at: string | undefined): Later | undefined {
	if (after !== undefined && at !== undefined) throw new UsageError("Specify one of --in and --at.");
	if (after !== undefined) {
		const [, count = "", unit = ""] = /^(\d+)([smh])$/.exec(after) ?? [];
		const seconds = Number(count) * (unitSeconds[unit] ?? 0);
		if (seconds >= 1 && seconds <= mostSeconds) return { in: seconds };
		throw new UsageError("--in must be a duration such as 90s, 12m or 2h, at most 168h.");
	}
	if (at === undefined) return undefined;
	if (/^(\d{4}-\d\d-\d\dT)?([01]\d|2[0-3]):[0-5]\d$/.test(at)) return { at };
	throw new UsageError("--at must be a time such as 17:50, or 2026-11-28T07:30, in the gateway's time zone.");
}

/** @param time value of `--at` @param now in milliseconds @returns the next such local time in the zone */
export function nextTime(time: string, now: number, zone: string): string {
	if (time.includes("T")) return time;
	const local = localTime(now, zone);
	const [today = ""] = local.split("T");
	if (`${today}T${time}` > local) return `${today}T${time}`;
	return `${new Date(Date.parse(`${today}T00:00Z`) + dayMs).toISOString().slice(0, 10)}T${time}`;
}

/** Schedules an announcement, and prints how to cancel it. @throws {Rejection} */
export async function schedule(
	gateway: GatewayClient,
	later: Later,
	announcement: RequestBody<"POST /api/announcements">,
): Promise<void> {
	const { zone } = await gateway.request("GET /api/schedules");
	const at: ScheduleRequest["at"] = "in" in later ? later : { once: nextTime(later.at, Date.now(), zone) };
	const body = { at, do: { announcement } };
	const made = await gateway.request("POST /api/schedules", { body });
	print(describe(made));
	print(`Cancel it with npm run say -- --cancel ${made.id}`);
}

/** @throws {Rejection} */
export async function printTimes(gateway: GatewayClient): Promise<void> {
	const { zone, schedules } = await gateway.request("GET /api/schedules");
	for (const schedule of schedules) print(describe(schedule));
	print(schedules.length === 0 ? "No schedules." : `Time zone: ${zone}.`);
}

/** @throws {Rejection} */
export async function cancel(gateway: GatewayClient, id: string): Promise<void> {
	await gateway.request("DELETE /api/schedules/:id", { params: { id } });
	print(`Canceled ${id}.`);
}

function describe(of: Schedule): string {
	const { id, name, at, last } = of;
	const { targets = {} } = of.do.announcement ?? of.do.command ?? {};
	const now = Date.now();
	const what = name ?? actionText(of.do, (sound) => `sound ${sound}`);
	const where = placeText(targets, (deviceId) => deviceId);
	return [`${id}  ${what}`, whenText(at), where, dueText(of, now), last && lastText(of, last, now)]
		.filter(Boolean)
		.join(", ");
}
