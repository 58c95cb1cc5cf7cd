/** Checks a plan that a client sent, field by field, and fills in what it leaves out. */

import { deviceId } from "../../device/protocol/messages.js";
import {
	boolean,
	describeProblem,
	findProblem,
	type Infer,
	integer,
	isRecord,
	matches,
	models,
	object,
	oneOf,
	optional,
	pattern,
	type Schema,
	string,
} from "../../device/protocol/schema.js";
import { days, type Group, type Plan, pinnedImage, type Window } from "../api/rollout.js";
import { HttpProblem } from "../problem.js";

/** A plan whose firmware is not looked up yet; `version` as for `trigger_ota`. */
export interface AskedPlan extends Omit<Plan, "firmware"> {
	readonly firmware: Pick<Plan["firmware"], "version"> & Partial<Plan["firmware"]>;
}

const whole = integer(1, 10_000);
const dayMs = 86_400_000;
const deadlineMs = 30 * dayMs;
/** The last time that `isoTime` has a form for. */
const lastTime = Date.parse("9999-12-31T23:59:59.999Z");
const maxGroups = 20;
/** Above this number of devices 5 % of them are more than 5. */
const smallFleet = 100;
const isoTime = pattern(
	64,
	"^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?(Z|[+-]\\d\\d:\\d\\d)$",
	"a time such as 2026-11-22T20:00:00Z,",
);
const clockTime = pattern(5, "^([01]\\d|2[0-3]):[0-5]\\d$", "a time of day such as 22:00,");
const percentage = pattern(4, "^([1-9]\\d?|100)%$", 'a number of devices, a part such as "10%", or "rest",');

const fields = {
	"": object({
		firmware: object({}),
		target: object({}),
		maxAttempts: optional(integer(1, 10)),
		allowDowngrade: optional(boolean()),
		startsAt: optional(isoTime),
		deadline: optional(isoTime),
		window: optional(object({})),
	}),
	firmware: object({ version: string(64), source: optional(oneOf("release", "upload")) }),
	target: object({ model: optional(oneOf(...models)), joinLater: optional(boolean()) }),
	group: object({
		concurrency: optional(whole),
		approval: optional(boolean()),
		soakSeconds: optional(integer(0, 86_400)),
		errorThreshold: optional(object({})),
	}),
	threshold: object({
		count: optional(whole),
		percent: optional(integer(1, 100)),
		minExecuted: optional(whole),
	}),
	window: object({ from: clockTime, to: clockTime, timeZone: optional(string(64)) }),
};

/**
 * @param total devices that the plan would have now, for the default groups
 * @param now milliseconds since 1970
 * @throws {HttpProblem} 422 that names the first field that is wrong
 */
export function parsePlan(value: unknown, total: (target: Plan["target"]) => number, now: number): AskedPlan {
	const asked = check(fields[""], value, "", ["groups"]);
	const { images, source, version } = check(fields.firmware, asked.firmware, "firmware", ["images"]);
	const target = parseTarget(asked.target);
	const { maxAttempts = 2, allowDowngrade = false, startsAt = new Date(now).toISOString() } = asked;
	const starts = timeOf(startsAt, "startsAt");
	const { deadline = new Date(Math.min(Math.max(starts, now) + deadlineMs, lastTime)).toISOString() } = asked;
	const ends = timeOf(deadline, "deadline");
	if (ends <= now || ends <= starts) refuse("deadline", "must be after startsAt, and in the future");
	return {
		firmware: {
			version,
			...(source && { source }),
			...(images !== undefined && {
				images: list(images, "firmware.images", 20, (image, at) => check(pinnedImage, image, at)),
			}),
		},
		target,
		groups: asked.groups === undefined ? defaultGroups(total(target)) : parseGroups(asked.groups),
		maxAttempts,
		allowDowngrade,
		startsAt,
		deadline,
		...(asked.window !== undefined && { window: parseWindow(asked.window) }),
	};
}

function parseTarget(value: unknown): Plan["target"] {
	const { devices, model, joinLater } = check(fields.target, value, "target", ["devices"]);
	if ((devices === undefined) === (model === undefined))
		refuse("target", "must have either model or devices");
	if (model !== undefined) return { model, joinLater: joinLater ?? false };
	if (joinLater !== undefined) refuse("target.joinLater", "belongs to a model");
	const ids = list(devices, "target.devices", 10_000, (id, at) => check(deviceId, id, at));
	if (ids.length === 0 || new Set(ids).size < ids.length)
		refuse("target.devices", "must name at least one device, and each once");
	return { devices: ids };
}

/** A canary of 5 devices, or 5 % where that is more, then the rest. */
function defaultGroups(total: number): readonly Group[] {
	const canary = { size: total > smallFleet ? "5%" : 5, concurrency: 5 };
	return parseGroups([canary, { size: "rest" }]);
}

function parseGroups(value: unknown): readonly Group[] {
	const groups = list(value, "groups", maxGroups, parseGroup);
	if (groups.length === 0) refuse("groups", "must have at least one group");
	for (const [index, { size }] of groups.entries())
		if ((size === "rest") !== (index === groups.length - 1))
			refuse(`groups.${index}.size`, 'must be "rest" in the last group, and in no other');
	return groups;
}

function parseGroup(value: unknown, at: string): Group {
	const { size: given, ...group } = check(fields.group, value, at, ["size"]);
	const isSize = given === "rest" || matches(whole, given) || matches(percentage, given);
	const size = isSize ? given : refuse(`${at}.size`, 'must be a number of devices, "10%" or "rest"');
	const { concurrency = 20, approval = false, soakSeconds = 180 } = group;
	const byDefault = size === "rest" ? { percent: 10 } : { count: 2 };
	const path = `${at}.errorThreshold`;
	const threshold = check(fields.threshold, group.errorThreshold ?? byDefault, path);
	if (threshold.count === undefined && threshold.percent === undefined)
		refuse(path, "must have count or percent");
	return { size, concurrency, errorThreshold: { minExecuted: 10, ...threshold }, approval, soakSeconds };
}

function parseWindow(value: unknown): Window {
	const given = check(fields.window, value, "window", ["days"]);
	const { timeZone = new Intl.DateTimeFormat().resolvedOptions().timeZone } = given;
	try {
		new Intl.DateTimeFormat("en", { timeZone });
	} catch {
		refuse("window.timeZone", "must be a time zone such as Europe/Berlin");
	}
	const named = list(given.days ?? days, "window.days", days.length, (day, at) =>
		check(oneOf(...days), day, at),
	);
	if (named.length === 0) refuse("window.days", "must name at least one day");
	return { days: named, from: given.from, to: given.to, timeZone };
}

/**
 * Checks an object; a field that is not known is refused, as it may be misspelt.
 * @param others known fields that are checked elsewhere
 */
function check<S extends Schema, N extends string = never>(
	schema: S,
	value: unknown,
	path: string,
	others: readonly N[] = [],
): Infer<S> & { readonly [K in N]?: unknown } {
	if (!matches(schema, value)) {
		const problem = findProblem(schema, value);
		const at = [path, problem?.path].filter(Boolean).join(".");
		throw new HttpProblem(422, `${describeProblem({ path: at, expected: problem?.expected ?? "" })}.`);
	}
	if (schema.type === "object" && isRecord(value)) {
		const known = [...Object.keys(schema.fields), ...others];
		const stray = Object.keys(value).find((name) => !known.includes(name));
		if (stray !== undefined)
			refuse([path, stray].filter(Boolean).join("."), `is not known; there are ${known.join(", ")}`);
	}
	return value;
}

function list<T>(value: unknown, path: string, most: number, parse: (item: unknown, at: string) => T): T[] {
	if (!Array.isArray(value) || value.length > most) return refuse(path, `must be a list of at most ${most}`);
	return value.map((item, index) => parse(item, `${path}.${index}`));
}

function timeOf(text: string, path: string): number {
	const ms = Date.parse(text);
	return Number.isNaN(ms) ? refuse(path, "must be a time such as 2026-11-22T20:00:00Z") : ms;
}

function refuse(path: string, expected: string): never {
	throw new HttpProblem(422, `${path} ${expected}.`);
}
