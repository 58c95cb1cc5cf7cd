/** Conversion of form input to a plan for `PUT /api/rollouts/{id}`, for the page and the terminal. */

import type { Infer } from "../../../device/protocol/schema.js";
import type { planRequest, Target } from "../rollout.js";
import { ownZone } from "../time-zone.js";

type Request = Infer<typeof planRequest>;
type RequestedGroup = NonNullable<Request["groups"]>[number];
/** Plan of a request; the gateway adds defaults. */
export interface RequestedPlan extends Omit<Request, "firmware" | "target" | "window"> {
	readonly firmware: { readonly version: string } | { readonly channel: string };
	readonly target: Target;
	readonly window?: Omit<NonNullable<Request["window"]>, "days"> & { readonly days?: readonly string[] };
}

const everyDay: readonly string[] = [];

/** Options as typed; the gateway validates them and replaces empty ones by defaults. */
export const defaultOptions = {
	/** Devices in the first group: "5" or "5%"; "0": there is no such group. */
	canary: "",
	/** Failures that stop the first group, such as "2" or "10%"; `maxFailures`: the rest. */
	canaryFailures: "",
	maxFailures: "",
	/** Devices at a time. */
	concurrency: "",
	/** Whether the rest waits for a person after the first group. */
	approval: false,
	soakSeconds: "",
	attempts: "",
	/** ISO 8601, or local time without a zone; so is `deadline`. */
	startsAt: "",
	deadline: "",
	/** Time of day such as "22:00", in this computer's time zone; both or none. */
	from: "",
	to: "",
	days: everyDay,
	allowDowngrade: false,
	/** Whether devices that join later are updated too, and all to later releases of a channel. */
	standing: false,
};
export type PlanOptions = Readonly<typeof defaultOptions>;

export const weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

/** Default size of the first group. */
const canarySize = 5;

/** Most devices that a plan allows at a time. */
export const mostAtOnce = 10_000;

/** Up to this number of devices are updated one after another. */
export const smallTarget = 20;

/** Default group options of a small target. */
export const oneByOne = { concurrency: 1, errorThreshold: { count: 1 }, soakSeconds: 30 } as const;

/**
 * @param firmware a version as for `trigger_ota`, or a channel
 * @param size devices of the target now; undefined: not known
 */
export function makePlan(
	firmware: RequestedPlan["firmware"],
	target: Target,
	options: PlanOptions,
	size = "devices" in target ? target.devices.length : undefined,
): RequestedPlan {
	const { attempts, allowDowngrade, startsAt, deadline, from, to, days, standing } = options;
	const groups = groupsOf(options, size !== undefined && size <= smallTarget && !standing);
	const timeZone = ownZone();
	return {
		firmware,
		target,
		...(standing && { standing }),
		...(groups && { groups }),
		...(attempts !== "" && { maxAttempts: Number(attempts) }),
		...(allowDowngrade && { allowDowngrade }),
		...(startsAt !== "" && { startsAt: isoTime(startsAt) }),
		...(deadline !== "" && { deadline: isoTime(deadline) }),
		...((from !== "" || to !== "" || days.length > 0) && {
			window: { from, to, ...(timeZone && { timeZone }), ...(days.length > 0 && { days }) },
		}),
	};
}

/** @returns undefined where the gateway chooses all of it */
function groupsOf(options: PlanOptions, isSmall: boolean): RequestedPlan["groups"] {
	const { canary, canaryFailures, maxFailures, concurrency, soakSeconds, approval } = options;
	const isOneByOne = isSmall && [canary, canaryFailures].every((text) => text === "") && !approval;
	const typed = [canary, canaryFailures, maxFailures, concurrency, soakSeconds];
	if (!isOneByOne && typed.every((text) => text === "") && !approval) return undefined;
	const soak = soakSeconds === "" ? {} : { soakSeconds: Number(soakSeconds) };
	const atATime = concurrency === "" ? {} : { concurrency: Number(concurrency) };
	const rest: RequestedGroup = { size: "rest", ...soak, ...atATime, ...thresholdOf(maxFailures) };
	if (isOneByOne) return [{ ...oneByOne, ...rest }];
	if (canary === "0") return [rest];
	const first: RequestedGroup = {
		size: canary.endsWith("%") ? canary : Number(canary || canarySize),
		...soak,
		concurrency: Math.min(canarySize, atATime.concurrency ?? canarySize),
		...thresholdOf(canaryFailures),
	};
	return [first, { ...rest, approval }];
}

function thresholdOf(text: string): Pick<RequestedGroup, "errorThreshold"> {
	if (text === "") return {};
	const isPart = text.endsWith("%");
	return { errorThreshold: isPart ? { percent: Number.parseInt(text, 10) } : { count: Number(text) } };
}

/** Converts a time to UTC. Returns an invalid one unchanged, so that the gateway's error names the field. */
function isoTime(text: string): string {
	const time = new Date(text);
	return Number.isNaN(time.getTime()) ? text : time.toISOString();
}

/** An id for a new rollout that a person can type, such as "1.4.0-3fa9c1". @param version or the channel of a standing one */
export function makeRolloutId(version: string): string {
	const bytes = crypto.getRandomValues(new Uint8Array(3));
	const random = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
	return `${version.toLowerCase().replace(/[^a-z0-9._-]/g, "-")}-${random}`;
}
