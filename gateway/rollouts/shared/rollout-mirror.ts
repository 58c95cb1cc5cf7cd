/**
 * The roll-outs of the bucket `gw-rollouts`, as its watch tells them. Keys: `<id>/plan`, `<id>/queue/<n>` (devices in
 * their order), `<id>/head`, `<id>/device/<device id>`, and `<id>/offer/<device id>`, which rollout-bucket.ts reads
 * itself.
 */

import { deviceId } from "../../../device/protocol/messages.js";
import { integer, isRecord, matches, object, string } from "../../../device/protocol/schema.js";
import { type DeviceStep, deviceStep, type Head, head, type Rollout } from "../../api/rollout.js";
import type { Entry } from "../../bus.js";
import { validItems } from "../../json.js";
import { time } from "../../storage/time.js";
import { queued } from "../device-step.js";
import { planFile, storedPlan } from "../store.js";

/** Counts the changes of one roll-out; each is one write of its head. */
export const commit = integer(0, Number.MAX_SAFE_INTEGER);
/** `by`: the gateway that wrote it. */
const headValue = object({ commit, head, by: string(64) });
const stepValue = object({ commit, step: deviceStep });
const queueValue = object({ at: time });

/** One roll-out as it is in the bucket. */
export interface Kept {
	plan?: Pick<Rollout, "createdAt" | "asked" | "plan"> | undefined;
	head?: Head | undefined;
	commit: number;
	/** Steps of the latest commit; they may lack keys of their own. */
	latest: readonly DeviceStep[];
	readonly queue: Map<string, readonly DeviceStep[]>;
	readonly steps: Map<string, { readonly step: DeviceStep; readonly commit: number }>;
	/** By device: the commit of the step in its own key. */
	readonly flushed: Map<string, number>;
	rollout?: Rollout | undefined;
}

export interface RolloutMirrorOptions {
	/** Of this run. */
	readonly gatewayId: string;
	/** A roll-out has changed, by this gateway or another. */
	readonly onChange: (id: string) => void;
	/** Another gateway has changed a roll-out. */
	readonly onForeign: () => void;
	readonly onProblem: (sentence: string) => void;
}

const echoMs = 5_000;

export class RolloutMirror {
	readonly #options: RolloutMirrorOptions;
	readonly #kept = new Map<string, Kept>();
	/** By key, own writes included. */
	readonly #revisions = new Map<string, number>();
	readonly #changed = new Set<string>();
	readonly #waiting = new Set<() => void>();
	/** Of the latest write that the watch has told. */
	#seen = 0;

	constructor(options: RolloutMirrorOptions) {
		this.#options = options;
	}

	ids(): readonly string[] {
		return [...this.#kept.keys()];
	}

	/** @returns undefined if there is none of this id */
	rollout(id: string): Rollout | undefined {
		const kept = this.#kept.get(id);
		if (!kept?.plan || !kept.head) return undefined;
		if (kept.rollout) return kept.rollout;
		const queues = [...kept.queue].sort(([a], [b]) => Number(a) - Number(b));
		const devices = new Map(queues.flatMap(([, steps]) => steps).map((step) => [step.deviceId, step]));
		for (const [id, { step }] of kept.steps) devices.set(id, step);
		kept.rollout = { id, ...kept.plan, head: kept.head, devices };
		return kept.rollout;
	}

	keptOf(id: string): Kept {
		const empty = { commit: 0, latest: [], queue: new Map(), steps: new Map(), flushed: new Map() };
		const kept = this.#kept.get(id) ?? empty;
		this.#kept.set(id, kept);
		return kept;
	}

	/** For compare and set; 0: there is no such key. */
	revisionOf(key: string): number {
		return this.#revisions.get(key) ?? 0;
	}

	keysOf(id: string): readonly string[] {
		return [...this.#revisions.keys()].filter((key) => key.startsWith(`${id}/`));
	}

	/** To be called after a write of this gateway. */
	wrote(key: string, revision: number): void {
		this.#revisions.set(key, revision);
	}

	commit(id: string, head: Head, number: number, steps: readonly DeviceStep[]): void {
		const kept = this.keptOf(id);
		Object.assign(kept, { head, commit: number, latest: steps });
		for (const step of steps) kept.steps.set(step.deviceId, { step, commit: number });
		this.touch(id);
	}

	/** What the watch tells. */
	told(key: string, entry: Entry | undefined): void {
		this.#seen = Math.max(this.#seen, entry?.revision ?? 0);
		this.learn(key, entry);
		for (const check of this.#waiting) check();
	}

	/** Takes what another gateway has written. */
	learn(key: string, entry: Entry | undefined): void {
		const known = this.#revisions.get(key);
		if (entry ? entry.revision <= (known ?? 0) : known === undefined) return;
		if (entry) this.#revisions.set(key, entry.revision);
		else this.#revisions.delete(key);
		const [id = "", kind = "", ...rest] = key.split("/");
		const kept = this.keptOf(id);
		const name = rest.join("/");
		if (!entry) drop(kept, kind, name);
		else if (!this.#take(id, kept, kind, name, parse(entry.text)))
			this.#options.onProblem(`The roll-outs' key ${key} is damaged, and is left out.`);
		const isEmpty = !kept.plan && !kept.head && kept.steps.size === 0 && kept.queue.size === 0;
		if (isEmpty) this.#kept.delete(id);
		this.touch(id);
	}

	/** Tells of a change, once for all of one turn. */
	touch(id: string): void {
		const kept = this.#kept.get(id);
		if (kept) kept.rollout = undefined;
		if (this.#changed.size === 0)
			setImmediate(() => {
				const ids = [...this.#changed];
				this.#changed.clear();
				for (const each of ids) this.#options.onChange(each);
			});
		this.#changed.add(id);
	}

	/** Resolves once the watch has told this write and all before it. @returns false after 5 s */
	hasSeen(revision: number): Promise<boolean> {
		return this.#until(() => this.#seen >= revision);
	}

	/** The same for a roll-out's commit, or 0 for its removal. */
	hasReached(id: string, commit: number): Promise<boolean> {
		return this.#until(() =>
			commit === 0 ? !this.rollout(id) : this.rollout(id) !== undefined && this.keptOf(id).commit >= commit,
		);
	}

	/** @returns false if the value is damaged */
	#take(id: string, kept: Kept, kind: string, name: string, value: unknown): boolean {
		const { devices, ids }: Readonly<Record<string, unknown>> = isRecord(value) ? value : {};
		switch (kind) {
			case "plan":
				kept.plan = planOf(value);
				return kept.plan !== undefined;
			case "head":
				if (!matches(headValue, value)) return false;
				// Own writes are told too, maybe before they are answered.
				if (value.by !== this.#options.gatewayId) this.#options.onForeign();
				if (value.commit >= kept.commit)
					this.commit(id, value.head, value.commit, validItems(deviceStep, devices));
				return true;
			case "queue": {
				if (!matches(queueValue, value)) return false;
				const queue = validItems(deviceId, ids).map((each) => queued(each, value.at));
				kept.queue.set(name, queue);
				return true;
			}
			case "device":
				if (!matches(stepValue, value)) return false;
				kept.flushed.set(name, value.commit);
				if (value.commit > (kept.steps.get(name)?.commit ?? 0)) kept.steps.set(name, value);
				return true;
			default:
				return true;
		}
	}

	#until(isMet: () => boolean): Promise<boolean> {
		if (isMet()) return Promise.resolve(true);
		return new Promise((resolve) => {
			const end = (met: boolean) => {
				clearTimeout(timer);
				this.#waiting.delete(check);
				resolve(met);
			};
			const check = () => isMet() && end(true);
			const timer = setTimeout(() => end(false), echoMs);
			this.#waiting.add(check);
		});
	}
}

function drop(kept: Kept, kind: string, name: string): void {
	if (kind === "plan") kept.plan = undefined;
	if (kind === "head") Object.assign(kept, { head: undefined, commit: 0, latest: [] });
	if (kind === "queue") kept.queue.delete(name);
	if (kind !== "device") return;
	kept.steps.delete(name);
	kept.flushed.delete(name);
}

/** @returns undefined if it is no JSON */
export function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

function planOf(value: unknown): Kept["plan"] {
	const asked = isRecord(value) ? value.asked : undefined;
	if (!matches(planFile, value)) return undefined;
	try {
		return { createdAt: value.createdAt, asked, plan: storedPlan(value.plan) };
	} catch {
		return undefined;
	}
}
