/**
 * The roll-outs of several gateways, in a log that all of them read. Only the one that drives them appends, after the
 * latest entry that it knows: so a driver that has lost its lease without noticing can store nothing once the next one has
 * claimed the roll-outs. Keys: `<id>`, and `<id>/<device id>` for the marks of offers.
 */

import { isDeepStrictEqual } from "node:util";
import { deviceId } from "../../../device/protocol/messages.js";
import {
	boolean,
	integer,
	isRecord,
	list,
	matches,
	object,
	optional,
	string,
} from "../../../device/protocol/schema.js";
import { type DeviceStep, deviceStep, type Head, head, type Rollout } from "../../api/rollout.js";
import { BusError, type Entry, type Log } from "../../bus.js";
import { parseJson } from "../../json.js";
import { time } from "../../storage/time.js";
import { queued } from "../device-step.js";
import type { Change } from "../machine.js";
import { planFile, type RolloutRecords, storedPlan } from "../store.js";

export interface RolloutLogOptions {
	/** Of this run. */
	readonly gatewayId: string;
	/** Whether this gateway drives the roll-outs. */
	readonly isDriver: () => boolean;
	/** Called when another gateway has appended, or when it is not known whether this one has. */
	readonly onStale: () => void;
	/** A roll-out has changed, by this gateway or another; once for all changes of one turn. */
	readonly onChange: (id: string) => void;
	readonly onProblem: (sentence: string) => void;
}

/** Begins a roll-out: entries before it are of another one that had this id. */
const plan = object({ ...planFile.fields, by: string(64) });
/** Devices in their order. */
const queue = object({ at: time, ids: list(deviceId, 5_000) });
/** A roll-out is shown once it has a head. */
const steps = object({ head: optional(head), devices: list(deviceStep, 500), by: string(64) });
const claimed = object({ claimed: boolean(), by: string(64) });
const removed = object({ removed: boolean(), by: string(64) });
const mark = object({ after: integer(1, Number.MAX_SAFE_INTEGER), isSent: boolean() });

/** An entry is at most 1 MB. */
const stepsAtOnce = 500;
const idsAtOnce = 5_000;
/** Limit for an entry that is known to be there. */
const readMs = 5_000;

/** One roll-out as it is in the log. */
interface Kept {
	revision: number;
	plan?: Pick<Rollout, "createdAt" | "asked" | "plan">;
	head?: Head;
	readonly devices: Map<string, DeviceStep>;
	/** By device: the entry of its present step. */
	readonly steps: Map<string, number>;
	/** Made when it is asked for. */
	rollout?: Rollout | undefined;
}

export class RolloutLog implements RolloutRecords {
	readonly #options: RolloutLogOptions;
	#log: Log | undefined;
	readonly #kept = new Map<string, Kept>();
	/** By key: what is marked of an offer. */
	readonly #marks = new Map<
		string,
		{ readonly revision: number; readonly after: number; readonly isSent: boolean }
	>();
	readonly #changed = new Set<string>();
	readonly #waiting = new Set<() => void>();

	constructor(options: RolloutLogOptions) {
		this.#options = options;
	}

	/** Gateways stay ready without the bus. */
	readonly readinessProblem = undefined;

	/** Reads a log from now on. @throws {BusError} */
	async open(log: Log): Promise<void> {
		await log.read({
			onAll: (entries) => this.#takeAll(entries),
			onEntry: (key, entry) => {
				if (this.#take(key, entry)) this.#options.onStale();
			},
		});
		this.#log = log;
	}

	/** @returns undefined if there is none of this id */
	find(id: string): Rollout | undefined {
		const kept = this.#kept.get(id);
		if (!kept?.plan || !kept.head) return undefined;
		kept.rollout ??= { id, ...kept.plan, head: kept.head, devices: new Map(kept.devices) };
		return kept.rollout;
	}

	/** The latest entry of a roll-out; 0: there is none. */
	revisionOf(id: string): number {
		return this.find(id) ? this.#revisionOf(id) : 0;
	}

	/** Resolves once this gateway has read an entry of a roll-out, or that it was removed if it is 0; or after 5 s. */
	async reached(id: string, revision: number): Promise<void> {
		await this.#until(() => (revision === 0 ? !this.find(id) : this.#revisionOf(id) >= revision));
	}

	async load(): Promise<readonly Rollout[]> {
		return [...this.#kept.keys()].flatMap((id) => this.find(id) ?? []);
	}

	/** An entry is whole, or not there. */
	hasFailed(): boolean {
		return false;
	}

	/**
	 * Takes over from the previous driver, whose next entry is refused from then on.
	 * @returns false if not all could be taken over
	 */
	async claim(): Promise<boolean> {
		for (const { id } of await this.load())
			for (;;) {
				const before = this.#revisionOf(id);
				const isClaimed = await this.#append(id, { claimed: true });
				if (isClaimed) break;
				if (isClaimed === undefined || !(await this.#until(() => this.#revisionOf(id) > before)))
					return false;
			}
		return true;
	}

	/** Not only for the driver: a gateway's disk may have one of the time before it joined. */
	async create({ id, createdAt, asked, plan, head, devices }: Rollout): Promise<boolean> {
		if (this.find(id)) return false;
		const all = [...devices.values()];
		const at = all[0]?.at ?? createdAt;
		const moved = all.filter((step) => !isDeepStrictEqual(step, queued(step.deviceId, at)));
		const entries = [
			{ schema: 1, createdAt, plan, asked },
			...inParts(all, idsAtOnce).map((part) => ({ at, ids: part.map(({ deviceId }) => deviceId) })),
			...inParts(moved, stepsAtOnce).map((devices) => ({ devices })),
			{ head, devices: [] },
		];
		const isEmpty = await this.#removeOlder(id).then(() => true, ifBusError);
		if (!isEmpty) return false;
		for (const entry of entries) if (!(await this.#append(id, entry))) return false;
		return this.find(id) !== undefined;
	}

	async append({ id, head }: Rollout, { devices }: Change): Promise<boolean> {
		const { isDriver, onStale } = this.#options;
		if (!this.find(id)) return false;
		for (const part of inParts(devices, stepsAtOnce))
			if (!isDriver() || !(await this.#append(id, { head, devices: part }))) {
				onStale();
				return false;
			}
		return true;
	}

	async remove(id: string): Promise<boolean> {
		const { isDriver, onStale } = this.#options;
		const isGone = isDriver() && (await this.#append(id, { removed: true }));
		// If that fails, the next roll-out of this id does it.
		if (isGone) await this.#removeOlder(id).catch(ifBusError);
		else onStale();
		return isGone === true;
	}

	/** The entry by which a device reached its present step. */
	stepOf(id: string, deviceId: string): number {
		return this.#kept.get(id)?.steps.get(deviceId) ?? 0;
	}

	/**
	 * Marks an offer as sent, before it is sent, or as recalled, whichever comes first.
	 * @param after the entry of the step `offered`
	 * @returns undefined if this call has marked it; otherwise whether it was sent
	 * @throws {BusError}
	 */
	async mark(id: string, deviceId: string, after: number, isSent: boolean): Promise<boolean | undefined> {
		const key = `${id}/${deviceId}`;
		for (;;) {
			if (!this.#log) throw new BusError("away", "The log of roll-outs is not open.");
			const known = this.#marks.get(key);
			if (known && known.after >= after) return known.isSent;
			const before = known?.revision ?? 0;
			const revision = await this.#log.append(key, JSON.stringify({ after, isSent }), before);
			if (revision !== undefined) {
				this.#marks.set(key, { revision, after, isSent });
				return undefined;
			}
			if (!(await this.#until(() => (this.#marks.get(key)?.revision ?? 0) > before)))
				throw new BusError("timeout", `The mark of ${key} was not read.`);
		}
	}

	/** @returns false if another gateway has appended; undefined if the bus failed, and it may be done or not */
	async #append(id: string, content: object): Promise<boolean | undefined> {
		if (!this.#log) return undefined;
		const text = JSON.stringify({ ...content, by: this.#options.gatewayId });
		try {
			const revision = await this.#log.append(id, text, this.#revisionOf(id));
			if (revision !== undefined) this.#take(id, { text, revision });
			return revision !== undefined;
		} catch (error) {
			return ifBusError(error);
		}
	}

	/** Entries and marks of a roll-out that was removed, or not stored completely. @throws {BusError} */
	async #removeOlder(id: string): Promise<void> {
		const latest = this.#revisionOf(id);
		if (latest > 0) await this.#log?.removeBefore(id, latest);
	}

	#revisionOf(id: string): number {
		return this.#kept.get(id)?.revision ?? 0;
	}

	#takeAll(entries: readonly (readonly [string, Entry])[]): void {
		const before = new Map([...this.#kept].map(([id, { revision }]) => [id, revision]));
		this.#kept.clear();
		this.#marks.clear();
		for (const [key, entry] of entries) this.#take(key, entry);
		for (const id of before.keys()) this.#touch(id);
		if ([...before].some(([id, revision]) => this.#revisionOf(id) !== revision)) this.#options.onStale();
	}

	/** @returns whether another gateway has appended it */
	#take(key: string, { text, revision }: Entry): boolean {
		const slash = key.indexOf("/");
		const id = slash === -1 ? key : key.slice(0, slash);
		const value = parseJson(text);
		if (slash !== -1) {
			if (revision <= (this.#marks.get(key)?.revision ?? 0)) return false;
			if (matches(mark, value)) this.#marks.set(key, { revision, ...value });
		} else {
			const kept = this.#kept.get(id) ?? emptied(0);
			if (revision <= kept.revision) return false;
			this.#kept.set(id, this.#apply(id, { ...kept, revision, rollout: undefined }, value));
			this.#touch(id);
		}
		for (const check of this.#waiting) check();
		// Own entries are read too, maybe before they are answered.
		return slash === -1 && isRecord(value) && value.by !== this.#options.gatewayId;
	}

	#apply(id: string, kept: Kept, value: unknown): Kept {
		if (matches(removed, value)) return emptied(kept.revision);
		if (matches(plan, value)) {
			for (const key of this.#marks.keys()) if (key.startsWith(`${id}/`)) this.#marks.delete(key);
			const begun = planOf(value);
			if (begun) return { ...emptied(kept.revision), plan: begun };
		}
		if (matches(queue, value)) for (const each of value.ids) kept.devices.set(each, queued(each, value.at));
		else if (matches(steps, value)) {
			for (const step of value.devices) {
				kept.devices.set(step.deviceId, step);
				kept.steps.set(step.deviceId, kept.revision);
			}
			if (value.head) return { ...kept, head: value.head };
		} else if (!matches(claimed, value))
			this.#options.onProblem(`Entry ${kept.revision} of the roll-out ${id} is damaged, and is left out.`);
		return kept;
	}

	#touch(id: string): void {
		if (this.#changed.size === 0)
			setImmediate(() => {
				const ids = [...this.#changed];
				this.#changed.clear();
				for (const each of ids) this.#options.onChange(each);
			});
		this.#changed.add(id);
	}

	/** Resolves once what was read meets a condition. @returns false after 5 s */
	#until(isMet: () => boolean): Promise<boolean> {
		if (isMet()) return Promise.resolve(true);
		return new Promise((resolve) => {
			const end = (met: boolean) => {
				clearTimeout(timer);
				this.#waiting.delete(check);
				resolve(met);
			};
			const check = () => isMet() && end(true);
			const timer = setTimeout(() => end(false), readMs);
			this.#waiting.add(check);
		});
	}
}

function emptied(revision: number): Kept {
	return { revision, devices: new Map(), steps: new Map() };
}

/** @returns undefined if it is damaged */
function planOf(value: { readonly createdAt: number; readonly plan: object }): Kept["plan"] | undefined {
	try {
		const asked = "asked" in value ? value.asked : undefined;
		return { createdAt: value.createdAt, asked, plan: storedPlan(value.plan) };
	} catch {
		return undefined;
	}
}

function ifBusError(error: unknown): undefined {
	if (!(error instanceof BusError)) throw error;
	return undefined;
}

/** At least one part. */
function inParts<T>(list: readonly T[], most: number): readonly (readonly T[])[] {
	const starts = Array.from({ length: Math.max(1, Math.ceil(list.length / most)) }, (_, at) => at * most);
	return starts.map((start) => list.slice(start, start + most));
}
