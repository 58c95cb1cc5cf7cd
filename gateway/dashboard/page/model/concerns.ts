/** What a person should look at: the gateway's findings about devices, and what it has refused. */

import type { Attention } from "../../../api/attention.js";
import type { Entry } from "../../../api/client/fleet.js";
import type { ListedRefusal } from "../../../api/device.js";

export type ConcernKind = Attention["kind"] | "refused";

/** In the order in which people read them. */
export const concernKinds: readonly ConcernKind[] = [
	"crashed",
	"rolled_back",
	"often_restarted",
	"faulty",
	"away",
	"weak_signal",
	"refused",
];

export interface Concern {
	readonly kind: ConcernKind;
	/** The device's, or the refusal's. */
	readonly id: string;
	/** Undefined: of a refusal of no known device. */
	readonly entry: Entry | undefined;
	/** ISO 8601; null: it is not known, as since before the gateway's start. */
	readonly since: string | null;
	readonly seen: boolean;
	readonly count: number;
	/** As the gateway says it; empty: it needs none. */
	readonly reason: string;
	readonly refusal?: ListedRefusal;
}

const hourMs = 60 * 60_000;
const awayHours = { hour: 1, day: 24 } as const;
export type AwayLimit = keyof typeof awayHours;

/** @param now as the gateway's clock says. @returns the latest first within each kind */
export function concernsOf(
	entries: readonly Entry[],
	refusals: readonly ListedRefusal[],
	limit: AwayLimit,
	now: number,
): readonly Concern[] {
	const ofDevices = entries.flatMap((entry) =>
		entry.attention
			.filter(({ kind, since }) => kind !== "away" || isLongAgo(since, awayHours[limit] * hourMs, now))
			.map(
				({ kind, since, seen, count = 1, reason = "" }): Concern => ({
					kind,
					id: entry.key,
					entry,
					since,
					seen,
					count,
					reason,
				}),
			),
	);
	const byId = new Map(entries.map((entry) => [entry.key, entry]));
	const refused = refusals.flatMap((refusal): readonly Concern[] => {
		const { id, deviceId, lastAt, seen, count, reason } = refusal;
		const entry = byId.get(deviceId ?? "");
		return isStale(refusal, entry, now)
			? []
			: [{ kind: "refused", id, entry, since: lastAt, seen, count, reason, refusal }];
	});
	return [...ofDevices, ...refused].sort(
		(a, b) =>
			concernKinds.indexOf(a.kind) - concernKinds.indexOf(b.kind) ||
			Date.parse(b.since ?? "") - Date.parse(a.since ?? "") ||
			0,
	);
}

/** A device that was refused and is connected now needs no one; a day later what was refused is over. */
function isStale({ what, lastAt }: ListedRefusal, entry: Entry | undefined, now: number): boolean {
	if (isLongAgo(lastAt, 24 * hourMs, now)) return true;
	return what === "connection" && entry?.session.connected === true;
}

function isLongAgo(since: string | null, forMs: number, now: number): boolean {
	return since === null || now - Date.parse(since) > forMs;
}
