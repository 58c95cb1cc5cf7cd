import {
	describeProblem,
	findProblem,
	type Infer,
	matches,
	pattern,
	type Schema,
} from "../../device/protocol/schema.js";
import { messageOf } from "../api/client/request.js";
import {
	deviceNumber,
	type Group,
	groupOptions,
	type Plan,
	planOptions,
	type Target,
	type Window,
	type windowOptions,
} from "../api/rollout.js";
import { parseTags } from "../api/tags.js";
import { zoneNamed } from "../api/time-zone.js";
import { days } from "../api/times.js";
import type { RequestedFirmware } from "../firmware/selection.js";
import { RequestError } from "../problem.js";

/** Plan before its firmware is looked up. */
export interface RequestedPlan extends Omit<Plan, "firmware"> {
	readonly firmware: RequestedFirmware & Partial<Pick<Plan["firmware"], "source" | "images">>;
}

const dayMs = 86_400_000;
const deadlineMs = 30 * dayMs;
/** Latest time that `isoTime` can represent. */
const lastTime = Date.parse("9999-12-31T23:59:59.999Z");
/** Number of devices above which 5 % are more than 5 devices. */
const smallFleet = 100;
const percentage = pattern(4, "^([1-9]\\d?|100)%$", 'a number of devices, a part such as "10%", or "rest",');

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
	if (!matches(planOptions, value))
		throw new RequestError(422, `${describeProblem(findProblem(planOptions, value))}.`);
	rejectUnknownFields(planOptions, value);
	const { firmware, groups, window, standing = false } = value;
	if (firmware.version === undefined && firmware.channel === undefined)
		reject("firmware", "must have version or channel");
	const target = parseTarget(value.target);
	if (standing && "devices" in target) reject("standing", "cannot be combined with target.devices");
	const { maxAttempts = 2, allowDowngrade = false, startsAt = new Date(now).toISOString() } = value;
	const starts = timeOf(startsAt, "startsAt");
	const latest = new Date(Math.min(Math.max(starts, now) + deadlineMs, lastTime)).toISOString();
	const { deadline = standing ? undefined : latest } = value;
	const ends = deadline === undefined ? Number.POSITIVE_INFINITY : timeOf(deadline, "deadline");
	if (ends <= now || ends <= starts) reject("deadline", "must be after startsAt, and in the future");
	return {
		firmware,
		target,
		standing,
		groups: parseGroups(groups ?? defaultGroups(total(target))),
		maxAttempts,
		allowDowngrade,
		startsAt,
		...(deadline !== undefined && { deadline }),
		...(window && { window: parseWindow(window, timeZone) }),
	};
}

/**
 * Validates a complete plan like a new one, except that its deadline may have passed.
 * @throws {Error}
 */
export function storedPlan(value: unknown): Plan {
	const plan = parsePlan(value, () => 0, Number.NEGATIVE_INFINITY);
	const { version, channel, source, images } = plan.firmware;
	if (version === undefined || !source || !images)
		return reject("firmware", "must have its version, source and images");
	return { ...plan, firmware: { version, ...(channel !== undefined && { channel }), source, images } };
}

function parseTarget({ devices, all, model, tags }: Infer<typeof planOptions.fields.target>): Target {
	const isOfKind = model !== undefined || tags !== undefined;
	if (
		[devices, all, isOfKind || undefined].filter((target) => target !== undefined).length !== 1 ||
		all === false
	)
		reject("target", 'must be {"devices"}, {"all": true}, or model, tags or both');
	if (devices) {
		if (devices.length === 0 || new Set(devices).size < devices.length)
			reject("target.devices", "must contain at least one device and no duplicates");
		return { devices };
	}
	if (all) return { all };
	if (tags !== undefined) requireTags(tags);
	return { ...(model !== undefined && { model }), ...(tags !== undefined && { tags }) };
}

function requireTags(text: string): void {
	try {
		parseTags(text);
	} catch (error) {
		reject("target.tags", `is not a valid tag expression. ${messageOf(error).replace(/\.$/, "")}`);
	}
}

/** A canary of 5 devices or 5 %, whichever is more, then the rest. */
function defaultGroups(total: number) {
	return [{ size: total > smallFleet ? "5%" : 5, concurrency: 5 }, { size: "rest" }];
}

function parseGroups(asked: readonly Infer<typeof groupOptions>[]): readonly Group[] {
	if (asked.length === 0) reject("groups", "must have at least one group");
	return asked.map((options, index) => {
		const group = parseGroup(options, `groups.${index}`);
		if ((group.size === "rest") !== (index === asked.length - 1))
			reject(`groups.${index}.size`, 'must be "rest" in the last group and only there');
		return group;
	});
}

function parseGroup(asked: Infer<typeof groupOptions>, at: string): Group {
	const { size: sizeValue }: Readonly<Record<string, unknown>> = asked;
	const isSize = sizeValue === "rest" || matches(deviceNumber, sizeValue) || matches(percentage, sizeValue);
	const size = isSize ? sizeValue : reject(`${at}.size`, 'must be a number of devices, "10%" or "rest"');
	const { concurrency = 20, approval = false, soakSeconds = 180 } = asked;
	const { errorThreshold = size === "rest" ? { percent: 10 } : { count: 2 } } = asked;
	if (errorThreshold.count === undefined && errorThreshold.percent === undefined)
		reject(`${at}.errorThreshold`, "requires count or percent");
	return { size, concurrency, errorThreshold: { minExecuted: 10, ...errorThreshold }, approval, soakSeconds };
}

function parseWindow({ from, to, ...given }: Infer<typeof windowOptions>, byDefault: string): Window {
	const { timeZone = byDefault } = given;
	if (zoneNamed(timeZone) === undefined)
		reject("window.timeZone", "must be a time zone such as Europe/Berlin");
	if (given.days?.length === 0) reject("window.days", "must name at least one day");
	return { days: given.days ?? days, from, to, timeZone };
}

/** Rejects unknown fields, as they may be misspelled. */
function rejectUnknownFields(schema: Schema, value: unknown, path: readonly string[] = []): void {
	if (typeof value !== "object" || value === null) return;
	const known = schema.type === "object" ? Object.keys(schema.fields) : [];
	if (schema === groupOptions) known.push("size");
	for (const [name, inner] of Object.entries(value)) {
		const at = [...path, name];
		if (schema.type === "object" && !known.includes(name))
			reject(at.join("."), `is unknown. Known fields: ${known.join(", ")}`);
		const field = schema.type === "list" ? schema.item : schema.type === "object" && schema.fields[name];
		if (field) rejectUnknownFields(field, inner, at);
	}
}

function timeOf(text: string, path: string): number {
	const ms = Date.parse(text);
	return Number.isNaN(ms) ? reject(path, "must be a time such as 2026-11-22T20:00:00Z") : ms;
}

function reject(path: string, expected: string): never {
	throw new RequestError(422, `${path} ${expected}.`);
}
