/** Whether the version of a roll-out crashes as often as its plan stops it for. */

import type { Rollout } from "../api/rollout.js";
import type { CrashService, Exposure } from "../extension.js";

/** One device that crashes again and again says little of a version. */
const fewestDevices = 2;

/** Compares the version with those that devices ran when they were offered it. */
export function isCrashing({ plan, head, devices }: Rollout, crashes: CrashService): boolean {
	if (!plan.stopWhen) return false;
	const { version } = plan.firmware;
	const steps = [...devices.values()];
	const previous = new Set(steps.flatMap(({ previousVersion }) => previousVersion ?? []));
	const forgiven = head.forgivenCrashes ?? { count: 0, time: 0 };
	const one = crashes.exposureOf(version);
	const since = {
		count: Math.max(0, one.count - forgiven.count),
		time: Math.max(0, one.time - forgiven.time),
	};
	if (crashes.leastRatio(since, sumOf([...previous].map(crashes.exposureOf))) < plan.stopWhen.crashRate)
		return false;
	const crashed = steps.filter(({ deviceId }) => crashes.hasCrashed(deviceId, version));
	return crashed.length >= fewestDevices;
}

function sumOf(exposures: readonly Exposure[]): Exposure {
	return exposures.reduce((sum, { count, time }) => ({ count: sum.count + count, time: sum.time + time }), {
		count: 0,
		time: 0,
	});
}
