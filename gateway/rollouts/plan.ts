/** Completes plans: sets defaults, pins the firmware, and resolves the target to devices. */

import type { Infer } from "../../device/protocol/schema.js";
import { type Group, type Plan, planRequest, storedPlan, type Target } from "../api/rollout.js";
import { zoneNamed } from "../api/time-zone.js";
import { days } from "../api/times.js";
import type { Base } from "../base.js";
import type { RequestedFirmware, Selection } from "../firmware/selection.js";
import { requireValid } from "../http/request-body.js";
import { devicesWithTags, readTags } from "../jobs/targets.js";
import { RequestError } from "../problem.js";
import type { Device } from "../sessions/device.js";

export interface PlanOptions extends Pick<Base, "now" | "yieldToLoop"> {
	/** Devices by id. */
	readonly devices: ReadonlyMap<string, Device>;
	readonly selection: Pick<Selection, "pin">;
	/** Default for windows without a time zone. Default: UTC. */
	readonly timeZone?: string;
}

/** Plan before its firmware is looked up. */
export interface RequestedPlan extends Omit<Plan, "firmware"> {
	readonly firmware: RequestedFirmware;
}

const dayMs = 86_400_000;
const deadlineMs = 30 * dayMs;
/** Latest time that `isoTime` can represent. */
const lastTime = Date.parse("9999-12-31T23:59:59.999Z");
/** Number of devices above which 5 % are more than 5 devices. */
const smallFleet = 100;

/**
 * Completes a requested plan.
 * @throws {RequestError} 422
 */
export async function completePlan(asked: unknown, options: PlanOptions): Promise<Plan> {
	const { selection, devices, now, timeZone, yieldToLoop } = options;
	const plan = parsePlan(asked, (target) => targetsOf(target, devices).length, now(), timeZone);
	const pinned = await selection.pin(plan.firmware);
	const { version, channel } = plan.firmware;
	const field = channel === undefined ? "firmware.version" : "firmware.channel";
	if ("rejection" in pinned) throw new RequestError(422, `${field}: ${pinned.rejection.message}`);
	if (channel !== undefined && (version ?? pinned.version) !== pinned.version)
		throw new RequestError(
			422,
			`firmware.version must be ${pinned.version}, the latest release of channel ${channel}. Omit it to use that.`,
		);
	const { target } = plan;
	const unknown = "devices" in target && target.devices.find((id) => !devices.has(id));
	if (unknown) throw new RequestError(422, `target.devices contains unknown device ${unknown}.`);
	// A plan for 10,000 devices takes more than one turn.
	await yieldToLoop();
	// Ensures that an accepted plan loads at the next start.
	return parseStoredPlan({ ...plan, firmware: pinned });
}

/** @returns ids of the devices selected now */
export function targetsOf(target: Target, devices: ReadonlyMap<string, Device>): readonly string[] {
	if ("devices" in target) return target.devices;
	const all = [...devices.values()];
	if ("all" in target) return all.map(({ deviceId }) => deviceId);
	const { model, tags } = target;
	return (tags === undefined ? all : devicesWithTags(all, tags))
		.filter((device) => model === undefined || device.model === model)
		.map(({ deviceId }) => deviceId);
}

/**
 * @param total number of devices that the target selects, for the default groups
 * @param now milliseconds since 1970
 * @param timeZone default for a window without one
 * @throws {RequestError} 422 with the first invalid field
 */
export function parsePlan(
	value: unknown,
	total: (target: Plan["target"]) => number,
	now: number,
	timeZone = "UTC",
): RequestedPlan {
	const { window, ...request } = requireValid(planRequest, value);
	const { firmware, standing = false, maxAttempts = 2, allowDowngrade = false } = request;
	if (firmware.version === undefined && firmware.channel === undefined)
		reject("firmware", "must have version or channel");
	const target = parseTarget(request.target);
	if (standing && "devices" in target) reject("standing", "cannot be combined with target.devices");
	const { startsAt = new Date(now).toISOString() } = request;
	const starts = timeOf(startsAt, "startsAt");
	const latest = new Date(Math.min(Math.max(starts, now) + deadlineMs, lastTime)).toISOString();
	const { deadline = standing ? undefined : latest } = request;
	const ends = deadline === undefined ? Number.POSITIVE_INFINITY : timeOf(deadline, "deadline");
	if (ends <= now || ends <= starts) reject("deadline", "must be after startsAt, and in the future");
	const { groups = defaultGroups(total(target)) } = request;
	const plan = {
		firmware,
		target,
		standing,
		groups: groups.map(withDefaults),
		maxAttempts,
		allowDowngrade,
		startsAt,
		...(deadline !== undefined && { deadline }),
		...(window && { window: { days, timeZone, ...window } }),
	};
	requireUsable(plan);
	return plan;
}

/**
 * Validates a complete plan. Its deadline may have passed.
 * @throws {Error}
 */
export function parseStoredPlan(value: unknown): Plan {
	const stored = requireValid(storedPlan, value);
	requireUsable(stored);
	return { ...stored, target: parseTarget(stored.target) };
}

/** @throws {RequestError} 422 if groups or window are invalid */
function requireUsable({ groups, window }: Pick<Plan, "groups" | "window">): void {
	for (const [index, { size, errorThreshold }] of groups.entries()) {
		const at = `groups.${index}`;
		if ((size === "rest") !== (index === groups.length - 1))
			reject(`${at}.size`, 'must be "rest" in the last group and only there');
		if (errorThreshold.count === undefined && errorThreshold.percent === undefined)
			reject(`${at}.errorThreshold`, "requires count or percent");
	}
	if (window && zoneNamed(window.timeZone) === undefined)
		reject("window.timeZone", "must be a time zone such as Europe/Berlin");
}

/** @throws {RequestError} 422 */
function parseTarget({ devices, all, model, tags }: Infer<typeof storedPlan.fields.target>): Target {
	const isOfKind = model !== undefined || tags !== undefined;
	if ([devices, all || undefined, isOfKind || undefined].filter((kind) => kind !== undefined).length !== 1)
		reject("target", 'must be {"devices"}, {"all": true}, or model, tags or both');
	if (devices && new Set(devices).size < devices.length)
		reject("target.devices", "must contain no duplicates");
	if (devices) return { devices };
	if (all) return { all };
	if (tags !== undefined) readTags(tags, "target.tags");
	return { ...(model !== undefined && { model }), ...(tags !== undefined && { tags }) };
}

type RequestedGroup = NonNullable<Infer<typeof planRequest>["groups"]>[number];

/** A canary of 5 devices or 5 %, whichever is more, then the rest. */
function defaultGroups(total: number): readonly RequestedGroup[] {
	return [{ size: total > smallFleet ? "5%" : 5, concurrency: 5 }, { size: "rest" }];
}

function withDefaults({ size, errorThreshold, ...group }: RequestedGroup): Group {
	const threshold = errorThreshold ?? (size === "rest" ? { percent: 10 } : { count: 2 });
	const defaults = { concurrency: 20, approval: false, soakSeconds: 180 };
	return { ...defaults, ...group, size, errorThreshold: { minExecuted: 10, ...threshold } };
}

function timeOf(text: string, path: string): number {
	const ms = Date.parse(text);
	return Number.isNaN(ms) ? reject(path, "must be a time such as 2026-11-22T20:00:00Z") : ms;
}

function reject(path: string, expected: string): never {
	throw new RequestError(422, `${path} ${expected}.`);
}
