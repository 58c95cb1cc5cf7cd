/** Filter, search and sort order of device lists, stored in the URL. */

import { keysOf } from "../../../../device/protocol/schema.js";
import { compareVersions, parseVersion } from "../../../api/channels.js";
import type { Entry, Fleet } from "../../../api/client/fleet.js";
import { isUpdating } from "../../../api/client/words.js";
import type { DeviceIssueKind } from "../../../api/issues.js";
import { labelFields } from "../../../api/label.js";
import { cleanText } from "../../../api/text.js";
import { hasWrongClock, issueTypes, isUnseen } from "./issues.js";
import type { FindUpdate } from "./outdated.js";
import { tagMatcher } from "./tags.js";

interface StateKind {
	readonly words: string;
	/** Style of the count of such devices in the header; without it the state is shown in the filters only. */
	readonly severity?: "problem" | "hint";
	readonly isIn: (entry: Entry, findUpdate: FindUpdate) => boolean;
}

export type State = "connected" | "updating" | "outdated" | "wrong_clock" | DeviceIssueKind;

/** In display order. Faults count until their issue is dismissed. */
export const stateKinds: Readonly<Record<State, StateKind>> = {
	connected: { words: "Connected", isIn: ({ session }) => session.connected },
	away: { words: "Offline", severity: "hint", isIn: ({ session }) => !session.connected },
	updating: { words: "Updating", isIn: ({ session }) => isUpdating(session.metadata) },
	crashed: fault("crashed"),
	rolled_back: fault("rolled_back"),
	update_failed: fault("update_failed"),
	safe_mode: fault("safe_mode"),
	duplicate_id: fault("duplicate_id"),
	often_restarted: fault("often_restarted"),
	wrong_clock: { ...fault("faulty"), words: "Wrong clock", isIn: hasWrongClock },
	faulty: { ...fault("faulty"), isIn: (entry) => isUnseen(entry, "faulty") && !hasWrongClock(entry) },
	weak_signal: { words: issueTypes.weak_signal.label, isIn: (entry) => isUnseen(entry, "weak_signal") },
	outdated: { words: "Update available", isIn: (entry, findUpdate) => findUpdate(entry) !== undefined },
};
export const states = keysOf(stateKinds);

const noUpdate: FindUpdate = () => undefined;

function fault(kind: DeviceIssueKind): StateKind {
	return { words: issueTypes[kind].label, severity: "problem", isIn: (entry) => isUnseen(entry, kind) };
}

interface SortKind {
	readonly words: string;
	/** Compares two devices; equal ones are sorted by name. */
	readonly order: (a: Entry, b: Entry) => number;
}

export const sortKinds = {
	name: { words: "Name", order: () => 0 },
	// Devices without a room last.
	room: {
		words: "Room",
		order: ({ session: a }, { session: b }) =>
			Number(a.room === undefined) - Number(b.room === undefined) || naturalOrder(a.room ?? "", b.room ?? ""),
	},
	model: { words: "Model", order: (a, b) => byText(a.session.model ?? "", b.session.model ?? "") },
	version: {
		words: "Oldest version first",
		order: ({ session: { firmwareVersion: a } }, { session: { firmwareVersion: b } }) =>
			a === b ? 0 : byVersion(a ?? "", b ?? ""),
	},
	state: { words: "Issues first", order: by(urgency) },
	// Devices without a signal last.
	signal: { words: "Weakest signal first", order: by(signalOf) },
	volume: { words: "Volume", order: by(({ vitals }) => vitals.volume ?? -1) },
	heard: { words: "Last seen", order: by(awaySince) },
} as const satisfies Readonly<Record<string, SortKind>>;
export type Sort = keyof typeof sortKinds;
export const sorts = keysOf(sortKinds);

function by(numberOf: (entry: Entry) => number): SortKind["order"] {
	return (a, b) => numberOf(a) - numberOf(b);
}

export const layouts = ["list", "table"] as const;
export type Layout = (typeof layouts)[number];

/** Fields of a query that exclude devices. */
const filters = ["search", "model", "room", "tags", "version", "state"] as const;

export interface Query {
	/** Words that must all occur in label, model, version, address or network. */
	readonly search: string;
	/** Empty matches any value, here and in the fields below. */
	readonly model: string;
	readonly room: string;
	/** Tag expression. */
	readonly tags: string;
	readonly version: string;
	readonly state: State | "";
	readonly sort: Sort;
	readonly isDescending: boolean;
	/** Empty selects the layout by the number of devices. */
	readonly layout: Layout | "";
}

/** Parses the query of a URL, such as "?state=away&sort=version". Unknown fields and values are ignored. */
export function queryOf(search: string): Query {
	const fields = new URLSearchParams(search);
	const text = (name: string) => fields.get(name) ?? "";
	return {
		search: text("search"),
		model: text("model"),
		room: text("room"),
		tags: text("tags"),
		version: text("version"),
		state: states.find((state) => state === text("state")) ?? "",
		sort: sorts.find((sort) => sort === text("sort")) ?? "name",
		isDescending: text("order") === "descending",
		layout: layouts.find((layout) => layout === text("view")) ?? "",
	};
}

export const noQuery = queryOf("");

/** Query of a URL, the inverse of `queryOf`; empty without filter and sort order. */
export function queryText(query: Query): string {
	const fields = new URLSearchParams();
	for (const name of filters) if (query[name] !== "") fields.set(name, query[name]);
	if (query.sort !== noQuery.sort) fields.set("sort", query.sort);
	if (query.isDescending) fields.set("order", "descending");
	if (query.layout !== "") fields.set("view", query.layout);
	const text = fields.toString();
	return text && `?${text}`;
}

/** Whether the query excludes devices. */
export function isFiltered(query: Query): boolean {
	return filters.some((name) => query[name].trim() !== "");
}

/** Query with the same order and layout that matches all devices. */
export function unfiltered({ sort, isDescending, layout }: Query): Query {
	return { ...noQuery, sort, isDescending, layout };
}

/** Entries that match `query`, in its order. */
export function select(entries: readonly Entry[], query: Query, findUpdate = noUpdate): readonly Entry[] {
	const { order } = sortKinds[query.sort];
	const sign = query.isDescending ? -1 : 1;
	const isByName = query.sort === "name";
	const scoreOf = matcher(query.search);
	const matches = filterOf(query, findUpdate);
	const rank = ranks(entries);
	return (
		entries
			.flatMap((entry) => {
				const score = matches(entry) ? scoreOf(entry) : undefined;
				return score === undefined ? [] : { entry, score, rank: rank.get(nameOf(entry)) ?? 0 };
			})
			// A chosen sort order takes precedence over the score of the match.
			.sort(
				(a, b) =>
					(isByName ? a.score - b.score : sign * order(a.entry, b.entry)) ||
					(isByName ? sign : 1) * (a.rank - b.rank || byText(a.entry.key, b.entry.key)),
			)
			.map(({ entry }) => entry)
	);
}

/** Natural order: "Lobby 2" before "Lobby 10", and "Äpfel" before "Zoo". */
const collator = new Intl.Collator("en", { numeric: true });
export const naturalOrder = collator.compare;

let knownRanks: ReadonlyMap<string, number> = new Map();

/** Rank of each name in natural order, cached because the collator is slow for thousands of names. */
function ranks(entries: readonly Entry[]): ReadonlyMap<string, number> {
	if (entries.some((entry) => !knownRanks.has(nameOf(entry)))) {
		const names = [...new Set(entries.map(nameOf))].sort(naturalOrder);
		knownRanks = new Map(names.map((name, rank) => [name, rank]));
	}
	return knownRanks;
}

/**
 * Counts devices by version, the newest first, and by state: the number that the list would show with that value selected. The selected
 * value is included even without devices, so that it can be deselected.
 */
export function tally(entries: readonly Entry[], query: Query, findUpdate: FindUpdate = noUpdate) {
	const scoreOf = matcher(query.search);
	const found = entries.filter((entry) => scoreOf(entry) !== undefined);
	const countOf = (without: Query, isCounted: (entry: Entry) => boolean) => {
		const matches = filterOf(without, findUpdate);
		return found.filter((entry) => isCounted(entry) && matches(entry)).length;
	};
	const versions = new Set(entries.flatMap(({ session }) => session.firmwareVersion ?? []));
	if (query.version !== "") versions.add(query.version);
	return {
		versions: [...versions]
			.sort((a, b) => byVersion(b, a))
			.map((value) => ({
				value,
				count: countOf({ ...query, version: "" }, ({ session }) => session.firmwareVersion === value),
			})),
		states: states.flatMap((value) => {
			const isIn = (entry: Entry) => stateKinds[value].isIn(entry, findUpdate);
			if (value !== query.state && !entries.some(isIn)) return [];
			return { value, count: countOf({ ...query, state: "" }, isIn) };
		}),
	};
}

/** Compares by semantic version; other versions come first, in alphabetical order. */
function byVersion(a: string, b: string): number {
	const [isA, isB] = [parseVersion(a) !== null, parseVersion(b) !== null];
	return compareVersions(a, b) || Number(isA) - Number(isB) || a.localeCompare(b);
}

/** Predicate of all filters except the search. */
function filterOf(
	{ model, room, tags, version, state }: Query,
	findUpdate: FindUpdate,
): (entry: Entry) => boolean {
	const hasTags = tags.trim() === "" ? () => true : tagMatcher(tags);
	return (entry) => {
		const { session } = entry;
		if (model !== "" && session.model !== model) return false;
		if (room !== "" && session.room !== room) return false;
		if (version !== "" && session.firmwareVersion !== version) return false;
		return hasTags(entry) && (state === "" || stateKinds[state].isIn(entry, findUpdate));
	};
}

/**
 * @returns function that scores a device: 0 if its name begins with the search, 1 contains it, 2 contains each word, 3 if all its texts
 * together do; undefined without a match
 */
function matcher(search: string): (entry: Entry) => number | undefined {
	const phrase = folded(cleanText(search)).replace(/\s+/g, " ");
	const words = phrase.split(" ");
	const hasAll = (text: string) => words.every((word) => text.includes(word));
	return (entry) => {
		const name = folded(nameOf(entry));
		const place = name.indexOf(phrase);
		if (place >= 0) return Math.min(place, 1);
		if (hasAll(name)) return 2;
		return hasAll(textOf(entry)) ? 3 : undefined;
	};
}

/** Text for a search without case and accents: "koln" for "Köln". */
export function folded(text: string): string {
	return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

function textOf({ key, session, vitals }: Entry): string {
	const { model, firmwareVersion, remoteAddress } = session;
	const label = labelFields.map((field) => session[field]);
	const texts = [key, ...label, model, firmwareVersion, remoteAddress, vitals.ssid];
	return folded(texts.join(" "));
}

/** Display name: the name of the label, or the id. */
export function nameOf({ key, session }: Entry): string {
	return session.name ?? session.deviceId ?? `Unnamed (${key})`;
}

/** Display name by device id; the id itself for an unknown device, such as a forgotten one. */
export function nameIn(fleet: Pick<Fleet, "get">, deviceId: string): string {
	const entry = fleet.get(deviceId);
	return entry ? nameOf(entry) : deviceId;
}

function byText(a: string, b: string): number {
	return a < b ? -1 : Number(a > b);
}

const urgent = [
	...states.filter((state) => stateKinds[state].severity === "problem"),
	"away",
	"updating",
] as const;

/** Rank by urgency, lowest first. */
function urgency(entry: Entry): number {
	const rank = urgent.findIndex((state) => stateKinds[state].isIn(entry, noUpdate));
	return rank < 0 ? urgent.length : rank;
}

/** Signal in dBm; 0, above any real signal, if unknown. */
function signalOf({ session, vitals }: Entry): number {
	return session.connected ? (vitals.rssi ?? 0) : 0;
}

function awaySince({ session, heardAt }: Entry): number {
	return session.connected ? Number.MAX_SAFE_INTEGER : heardAt;
}
