/**
 * Rollouts in an append-only log, keyed by rollout. Each change is appended before it takes effect. A damaged
 * entry loses only that entry, a damaged plan only that rollout. In a cluster, a gateway can only append
 * after the latest entry of all gateways.
 */

import { EventEmitter, once } from "node:events";
import { messageOf } from "../../device/message-of.js";
import { matches } from "../../device/protocol/schema.js";
import { parseJson } from "../api/json.js";
import { type DeviceStep, type Head, type Rollout, rolloutId } from "../api/rollout.js";
import { BusError } from "../bus.js";
import { errorCode } from "../problem.js";
import type { Entry, Log } from "../storage/log.js";
import { queued } from "./device-step.js";
import { changeEntries, entriesOf, planEntry, queueEntry, removedEntry, stepsEntry } from "./entries.js";
import type { Change } from "./machine.js";
import { parseStoredPlan } from "./plan.js";

export interface RolloutStoreOptions {
	readonly onProblem: (sentence: string) => void;
}

/** Timeout for reading an entry that is known to exist. */
const readMs = 5_000;

/** State of one rollout in the log. */
interface StoredRollout {
	readonly revision: number;
	/** Revision of its first entry. Earlier ones are obsolete. */
	readonly begun: number;
	readonly isRemoved?: boolean;
	readonly plan?: Pick<Rollout, "createdAt" | "asked" | "plan"> | undefined;
	readonly head?: Head;
	/** Copied before a change once `rollout` shares it. */
	readonly devices: Map<string, DeviceStep>;
	/** Cached result of `find`. */
	rollout?: Rollout | undefined;
}

export class RolloutStore {
	/**
	 * Called after a change by this or another gateway.
	 * @param removed last state of a removed rollout
	 */
	onChange: ((id: string, removed?: Rollout) => void) | undefined;
	/** Called after the whole log was read, also after each reconnection. */
	onRead: (() => void) | undefined;
	readonly #options: RolloutStoreOptions;
	#log: Log | undefined;
	readonly #rollouts = new Map<string, StoredRollout>();
	/** Emits `entry` after each entry read from the log. */
	readonly #read = new EventEmitter();
	/** Error of the latest write to this gateway's disk. */
	#failure: string | undefined;

	constructor(options: RolloutStoreOptions) {
		this.#options = options;
	}

	/** Reason why the latest write to this gateway's disk failed. The next `append` updates it. An unreachable bus does not affect it. */
	get readinessProblem(): string | undefined {
		return this.#failure && `Writing rollouts failed: ${this.#failure}.`;
	}

	/**
	 * Reads a log and follows it.
	 * @throws {BusError}
	 * @throws {NodeJS.ErrnoException}
	 */
	async open(log: Log): Promise<void> {
		await log.read({
			onAll: (entries) => this.#readAll(entries),
			onEntry: (key, entry) => this.#onEntry(key, entry),
		});
		this.#log = log;
		await this.#compact(log);
	}

	list(): readonly Rollout[] {
		return [...this.#rollouts.keys()].flatMap((id) => this.find(id) ?? []);
	}

	find(id: string): Rollout | undefined {
		const kept = this.#rollouts.get(id);
		if (!kept?.plan || !kept.head) return undefined;
		kept.rollout ??= { id, ...kept.plan, head: kept.head, devices: kept.devices };
		return kept.rollout;
	}

	/** Returns the revision of the latest entry of a rollout, which may be its removal; 0: none. */
	revisionOf(id: string): number {
		return this.#rollouts.get(id)?.revision ?? 0;
	}

	/**
	 * Waits until this gateway has read a revision of a rollout.
	 * @returns false after 5 s
	 */
	async waitForRevision(id: string, revision: number): Promise<boolean> {
		const signal = AbortSignal.timeout(readMs);
		while (this.revisionOf(id) < revision && !signal.aborted)
			await once(this.#read, "entry", { signal }).catch(() => {});
		return this.revisionOf(id) >= revision;
	}

	/** @returns like `append`; also false if the id exists */
	async create(rollout: Rollout): Promise<boolean | undefined> {
		const { id } = rollout;
		if (this.find(id)) return false;
		const isCreated = await this.restart(rollout);
		// Not retried by `append`, but by the client.
		this.#failure = undefined;
		return isCreated;
	}

	/**
	 * Appends a change. A part of it may be stored even if the result is not true.
	 * @returns false if another gateway changed the rollout first; undefined if it was not stored or the result
	 * is unknown
	 */
	append(id: string, change: Change): Promise<boolean | undefined> {
		return this.#appendAll(id, changeEntries(change));
	}

	/**
	 * Stores a whole rollout in place of its previous entries; atomically if it has no devices.
	 * @returns like `append`
	 */
	async restart(rollout: Rollout): Promise<boolean | undefined> {
		const { id } = rollout;
		const isFirst = this.revisionOf(id) === 0;
		const [first = {}, ...rest] = entriesOf(rollout);
		const isBegun = await this.#appendAll(id, [first]);
		if (!isBegun) return isBegun;
		// Not before, as previous entries may belong to a creation that another gateway completes.
		if (!isFirst) await this.#removeOutdated(id);
		return this.#appendAll(id, rest);
	}

	/** Removes entries before the first of the rollout. A failure is made up for by the next start or release. */
	async #removeOutdated(id: string): Promise<void> {
		const { begun = 0 } = this.#rollouts.get(id) ?? {};
		await this.#log?.removeBefore(id, begun).catch((error) => void this.#report(id, error));
	}

	async #appendAll(id: string, entries: readonly object[]): Promise<boolean | undefined> {
		try {
			for (const entry of entries) {
				const isAppended = await this.#append(id, entry);
				if (!isAppended) return isAppended;
			}
			this.#failure = undefined;
			return true;
		} catch (error) {
			this.#failure = this.#report(id, error);
			return undefined;
		}
	}

	/** @returns like `append` */
	async remove(id: string): Promise<boolean | undefined> {
		const isGone = await this.#appendAll(id, [{ removed: true }]);
		// A failure is made up for by the next start or removal.
		if (isGone) await this.#clear(id).catch((error) => void this.#report(id, error));
		return isGone;
	}

	/** Overrides stored steps in memory, until the next change of each. */
	show(id: string, devices: readonly DeviceStep[]): void {
		const kept = this.#rollouts.get(id);
		if (!kept) return;
		const shown = new Map(kept.devices);
		for (const step of devices) shown.set(step.deviceId, step);
		this.#rollouts.set(id, { ...kept, devices: shown, rollout: undefined });
	}

	/** Rewrites each rollout without obsolete entries, if no other process reads the log. */
	async #compact(log: Log): Promise<void> {
		for (const [id, kept] of this.#rollouts) {
			const rollout = this.find(id);
			if (!log.replace || !(rollout || kept.isRemoved)) continue;
			const texts = rollout ? entriesOf(rollout).map((entry) => JSON.stringify(entry)) : [];
			try {
				const revision = await log.replace(id, texts, kept.revision);
				if (revision === 0) this.#rollouts.delete(id);
				else if (revision !== undefined) this.#rollouts.set(id, { ...kept, revision });
			} catch (error) {
				this.#report(id, error);
			}
		}
	}

	/**
	 * @returns false if another gateway has appended; undefined if the bus failed and the result is unknown
	 * @throws {NodeJS.ErrnoException} outside of a cluster
	 */
	async #append(id: string, entry: object): Promise<boolean | undefined> {
		if (!this.#log) return undefined;
		try {
			const revision = await this.#log.append(id, JSON.stringify(entry), this.revisionOf(id));
			if (revision !== undefined) this.#applyEntry(id, revision, entry);
			return revision !== undefined;
		} catch (error) {
			if (error instanceof BusError) return undefined;
			throw error;
		}
	}

	/**
	 * Removes the entries of a removed rollout, except the last one while other gateways have to read it.
	 * @throws like `Log.removeBefore`
	 */
	async #clear(id: string): Promise<void> {
		const latest = this.revisionOf(id);
		if (latest === 0 || !this.#log) return;
		if (!this.#log.replace) return this.#log.removeBefore(id, latest);
		await this.#log.replace(id, [], latest);
		this.#rollouts.delete(id);
	}

	#readAll(entries: readonly (readonly [string, Entry])[]): void {
		const before = this.list();
		this.#rollouts.clear();
		for (const [key, entry] of entries) this.#onEntry(key, entry, false);
		for (const rollout of before) if (!this.find(rollout.id)) this.onChange?.(rollout.id, rollout);
		for (const { id } of this.list()) this.onChange?.(id);
		this.onRead?.();
	}

	#onEntry(id: string, { text, revision }: Entry, isNews = true): void {
		// Own entries are read too, possibly before their append completes.
		if (!matches(rolloutId, id) || revision <= this.revisionOf(id)) return;
		this.#applyEntry(id, revision, parseJson(text), isNews);
		this.#read.emit("entry");
	}

	#applyEntry(id: string, revision: number, value: unknown, isNews = true): void {
		if (revision <= this.revisionOf(id)) return;
		const removed = isNews && matches(removedEntry, value) ? this.find(id) : undefined;
		this.#rollouts.set(
			id,
			this.#apply(id, { ...(this.#rollouts.get(id) ?? emptyRollout(0)), revision }, value),
		);
		if (isNews) this.onChange?.(id, removed);
	}

	#apply(id: string, kept: StoredRollout, value: unknown): StoredRollout {
		const { revision } = kept;
		if (matches(removedEntry, value)) return { ...emptyRollout(revision), isRemoved: true };
		if (matches(planEntry, value)) {
			const { head } = value;
			return { ...emptyRollout(revision), plan: this.#planOf(id, value), ...(head && { head }) };
		}
		const devices = kept.rollout ? new Map(kept.devices) : kept.devices;
		const next = { ...kept, devices, rollout: undefined };
		if (matches(queueEntry, value))
			for (const deviceId of value.ids) devices.set(deviceId, queued(deviceId, value.at));
		else if (matches(stepsEntry, value)) {
			for (const step of value.devices) devices.set(step.deviceId, step);
			if (value.head) return { ...next, head: value.head };
		} else this.#options.onProblem(`Ignoring damaged entry ${revision} of rollout ${id}.`);
		return next;
	}

	/** @returns undefined if the plan is damaged */
	#planOf(id: string, value: { readonly createdAt: number; readonly plan: object }): StoredRollout["plan"] {
		try {
			const asked = "asked" in value ? value.asked : undefined;
			return { createdAt: value.createdAt, asked, plan: parseStoredPlan(value.plan) };
		} catch (error) {
			this.#options.onProblem(`Ignoring rollout ${id}, whose plan is damaged: ${messageOf(error)}`);
			return undefined;
		}
	}

	/**
	 * Reports an error unless it repeats the previous one.
	 * @returns its code or message
	 */
	#report(id: string, error: unknown): string {
		const why = errorCode(error) ?? String(error);
		if (this.#failure !== why) this.#options.onProblem(`Writing or removing rollout ${id} failed: ${why}.`);
		return why;
	}
}

function emptyRollout(revision: number): StoredRollout {
	return { revision, begun: revision, devices: new Map() };
}
