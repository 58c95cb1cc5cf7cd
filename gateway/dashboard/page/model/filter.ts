/** Which devices a list shows, and in which order. */

import compare from "semver/functions/compare.js";
import valid from "semver/functions/valid.js";
import type { Entry } from "./fleet.js";
import { hasFailed, isUpdating, signalBars } from "./words.js";

export const states = ["connected", "away", "updating", "failed", "crashed"] as const;
export type State = (typeof states)[number];
export const sorts = ["name", "state", "version", "signal"] as const;
export type Sort = (typeof sorts)[number];

export interface Query {
	/** Words that must all occur in name, model, version, address or network. */
	readonly search: string;
	/** Empty: any; so are version and state. */
	readonly model: string;
	readonly version: string;
	readonly state: State | "";
	readonly sort: Sort;
}

export const noQuery: Query = { search: "", model: "", version: "", state: "", sort: "name" };

/** @returns the entries that `query` is about, in its order */
export function select(entries: readonly Entry[], query: Query): readonly Entry[] {
	const words = query.search.toLowerCase().split(/\s+/).filter(Boolean);
	return entries
		.filter((entry) => isMeant(entry, query) && words.every((word) => textOf(entry).includes(word)))
		.sort((a, b) => orders[query.sort](a, b) || byName(a, b));
}

/** Every version that is there, the newest first. */
export function versionsOf(entries: readonly Entry[]): readonly string[] {
	const versions = new Set(entries.flatMap(({ session }) => session.firmwareVersion ?? []));
	return [...versions].sort((a, b) => compareVersions(b, a));
}

/** By semantic version; what is none comes first, by its letters. */
export function compareVersions(a: string, b: string): number {
	const [isA, isB] = [valid(a) !== null, valid(b) !== null];
	if (isA && isB) return compare(a, b);
	return Number(isA) - Number(isB) || a.localeCompare(b);
}

function isMeant({ session }: Entry, { model, version, state }: Query): boolean {
	if (model !== "" && session.model !== model) return false;
	if (version !== "" && session.firmwareVersion !== version) return false;
	switch (state) {
		case "":
			return true;
		case "connected":
			return session.connected;
		case "away":
			return !session.connected;
		case "updating":
			return isUpdating(session.metadata);
		case "failed":
			return hasFailed(session.metadata);
		case "crashed":
			return session.crashCount !== undefined;
	}
}

function textOf({ key, session, state }: Entry): string {
	const { model, firmwareVersion, remoteAddress } = session;
	return `${key} ${model} ${firmwareVersion} ${remoteAddress} ${state?.network.wifi_ssid}`.toLowerCase();
}

const orders: Readonly<Record<Sort, (a: Entry, b: Entry) => number>> = {
	name: () => 0,
	state: (a, b) => urgency(a) - urgency(b),
	version: (a, b) => compareVersions(a.session.firmwareVersion ?? "", b.session.firmwareVersion ?? ""),
	// By bars and not by dBm, which changes with every report: cards would not stand still.
	signal: (a, b) => barsOf(a) - barsOf(b),
};

function byName(a: Entry, b: Entry): number {
	return a.key < b.key ? -1 : Number(a.key > b.key);
}

/** What needs a person comes first. */
function urgency({ session }: Entry): number {
	if (hasFailed(session.metadata)) return 0;
	if (isUpdating(session.metadata)) return 1;
	if (session.crashCount !== undefined) return 2;
	return session.connected ? 4 : 3;
}

function barsOf({ session, state }: Entry): number {
	return session.connected && state ? signalBars(state.network.wifi_rssi) : 0;
}
