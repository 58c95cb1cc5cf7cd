/** What a person should look at: the gateway's findings about devices, and what it has refused, each cause once. */

import { keysOf } from "../../../../device/protocol/schema.js";
import type { Attention, AttentionKind } from "../../../api/attention.js";
import type { Entry } from "../../../api/client/fleet.js";
import { sentence } from "../../../api/client/words.js";
import type { ListedRefusal } from "../../../api/device.js";
import { resetText } from "../../../api/statuses.js";
import { crashWords, lookUp } from "./health-words.js";

export type ConcernKind = AttentionKind | "refused" | "webhook_ended";

/** In the order in which people read them. */
export const concernWords: Readonly<Record<ConcernKind, string>> = {
	crashed: "Crashed",
	rolled_back: "Rolled back",
	update_failed: "Update failed",
	safe_mode: "Safe mode",
	often_restarted: "Often restarted",
	faulty: "A part does not work",
	away: "Away for long",
	refused: "Refused",
	webhook_ended: "A webhook has ended",
	weak_signal: "Weak signal",
};

/** One of a device, or of one that was refused. */
export interface Concern {
	/** The device's, or the refusal's. */
	readonly id: string;
	/** Undefined: of a refusal of no known device. */
	readonly entry: Entry | undefined;
	/** ISO 8601; null: it is not known, as since before the gateway's start. */
	readonly since: string | null;
	readonly seen: boolean;
	readonly count: number;
	readonly refusal?: ListedRefusal;
}

/** Concerns that have one cause: people read it once, and act on all of them. */
export interface Cause {
	readonly kind: ConcernKind;
	/** A sentence. */
	readonly why: string;
	/** At least one, the latest first; all seen, or none. */
	readonly concerns: readonly Concern[];
	readonly seen: boolean;
	/** Not counted: nothing has to be done. */
	readonly isHint: boolean;
}

/** Whether no one has seen yet that a device needs a person for this: the fleet counts it so, as Attention does. */
export function isUnseen({ attention }: Entry, kind: AttentionKind): boolean {
	return attention.some((one) => one.kind === kind && !one.seen);
}

const kinds = keysOf(concernWords);
const dayMs = 24 * 60 * 60_000;

/** @param now as the gateway's clock says. @returns in the order in which people read them */
export function causesOf(
	entries: readonly Entry[],
	refusals: readonly ListedRefusal[],
	now: number,
): readonly Cause[] {
	const causes = new Map<string, Cause & { readonly concerns: Concern[] }>();
	const add = (kind: ConcernKind, why: string, concern: Concern) => {
		const { seen } = concern;
		const key = `${kind} ${seen} ${why}`;
		const cause = causes.get(key) ?? { kind, why, concerns: [], seen, isHint: kind === "weak_signal" };
		cause.concerns.push(concern);
		causes.set(key, cause);
	};
	const byId = new Map(entries.map((entry) => [entry.key, entry]));
	for (const entry of entries)
		for (const one of entry.attention)
			if (one.kind !== "away" || isOld(one.since, now))
				add(one.kind, whyOf(one, entry), { count: 1, ...one, id: entry.key, entry });
	for (const refusal of refusals) {
		const { what, deviceId, lastAt: since, reason } = refusal;
		const entry = byId.get(deviceId ?? "");
		const isWebhook = what === "webhook";
		// A device that was refused and is connected now needs no one; a day later what was refused is over.
		if ((isOld(since, now) && !isWebhook) || (what === "connection" && entry?.session.connected)) continue;
		const why = `${what === "report" ? "Report dropped: " : ""}${sentence(reason)}`;
		add(isWebhook ? "webhook_ended" : "refused", why, { ...refusal, since, entry, refusal });
	}
	const rank = ({ kind }: Cause) => kinds.indexOf(kind);
	const time = ({ since }: Concern) => Date.parse(since ?? "") || 0;
	for (const { concerns } of causes.values()) concerns.sort((a, b) => time(b) - time(a));
	return [...causes.values()].sort((a, b) => rank(a) - rank(b));
}

/** A sentence, the same for all devices with this cause. */
function whyOf({ kind, reason = "" }: Attention, { session: { firmwareVersion, metadata } }: Entry): string {
	switch (kind) {
		case "crashed":
			return `${lookUp(crashWords, reason)} on ${firmwareVersion}.`;
		case "rolled_back":
		case "update_failed":
			return `Update to ${metadata.otaVersion ?? "an unknown version"}: ${sentence(metadata.otaReason ?? "no reason is known")}`;
		case "safe_mode":
			return "The last three starts failed, so there is no sound, haptics or sensor.";
		case "often_restarted":
			return `Three times in a day or more, at last: ${resetText(reason)}.`;
		case "faulty":
			return sentence(reason);
		case "away":
			return "Not connected for more than a day.";
		case "weak_signal":
			return "Sounds may break off.";
	}
}

function isOld(since: string | null, now: number): boolean {
	return since === null || now - Date.parse(since) > dayMs;
}
