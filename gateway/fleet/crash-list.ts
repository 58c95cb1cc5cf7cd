/** Served list of the crashes of all devices, by cause and by version. */

import type { CrashCause, CrashList, CrashOccurrence } from "../api/crash-causes.js";
import type { Core } from "../extension.js";
import { isoTime } from "../sessions/view.js";
import type { StoredCause } from "./crash-causes.js";
import type { CrashHead, CrashStore } from "./crash-store.js";

const maxVersions = 100;
const maxSamples = 20;
/** Maximum number of devices per turn of the event loop. */
const devicesAtOnce = 500;

/** Latest crash of a device with a given cause. */
interface Sample {
	readonly deviceId: string;
	readonly head: CrashHead;
}

/** Lists causes and versions, yielding to the event loop if there are many devices. */
export async function listCrashes(
	causes: ReadonlyMap<string, StoredCause>,
	crashes: Pick<CrashStore, "heads">,
	core: Pick<Core, "yieldToLoop">,
): Promise<CrashList> {
	const { samplesOf, devicesOf, dropped } = await countDevices(causes, crashes, core);
	const listed = [...causes].sort(([, a], [, b]) => b.last.at - a.last.at);
	return {
		causes: listed.map(([id, cause]): CrashCause => {
			const samples = samplesOf.get(id) ?? [];
			return {
				...cause,
				id,
				first: shown(cause.first),
				last: shown(cause.last),
				versions: cause.versions.map(({ version, count }) => ({ version: version || null, count })),
				deviceCount: samples.length,
				samples: samples
					.sort((a, b) => b.head.at - a.head.at)
					.slice(0, maxSamples)
					.map(({ deviceId, head }) => ({ deviceId, crashId: head.id, ...shown(head) })),
			};
		}),
		versions: [...countByVersion(causes)]
			.sort(([, a], [, b]) => b - a)
			.slice(0, maxVersions)
			.map(([version, count]) => ({ version, count, deviceCount: devicesOf.get(version) ?? 0 })),
		dropped,
	};
}

/** Counts devices and samples of the stored crashes. */
async function countDevices(
	causes: ReadonlyMap<string, StoredCause>,
	crashes: Pick<CrashStore, "heads">,
	core: Pick<Core, "yieldToLoop">,
) {
	/** Latest crash of each device by cause. */
	const samplesOf = new Map<string, Sample[]>();
	/** Number of devices by version. */
	const devicesOf = new Map<string, number>();
	let dropped = 0;
	for (const [index, [deviceId, heads]] of [...crashes.heads()].entries()) {
		if (index % devicesAtOnce === devicesAtOnce - 1) await core.yieldToLoop();
		for (const version of new Set(heads.map((head) => head.version)))
			devicesOf.set(version, (devicesOf.get(version) ?? 0) + 1);
		const latest = new Map(heads.map((head) => [head.cause, head]));
		for (const [cause, head] of latest) {
			const samples = samplesOf.get(cause);
			if (samples) samples.push({ deviceId, head });
			else samplesOf.set(cause, [{ deviceId, head }]);
		}
		dropped += heads.filter(({ cause }) => !causes.has(cause)).length;
	}
	return { samplesOf, devicesOf, dropped };
}

function countByVersion(causes: ReadonlyMap<string, StoredCause>): ReadonlyMap<string, number> {
	const counts = new Map<string, number>();
	for (const { versions } of causes.values())
		for (const { version, count } of versions)
			if (version) counts.set(version, (counts.get(version) ?? 0) + count);
	return counts;
}

function shown({ version, at }: { readonly version: string; readonly at: number }): CrashOccurrence {
	return { version: version || null, at: isoTime(at) };
}
