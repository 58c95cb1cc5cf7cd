/**
 * The roll-outs in a bucket that all gateways watch. Only the one that drives them writes: each change is one write of
 * the roll-out's head, by compare and set, which carries the devices' steps; then each step gets a key of its own. So a
 * driver that has lost its lease unnoticed can store no step once the next one has claimed the heads.
 */

import { isDeepStrictEqual } from "node:util";
import { boolean, matches, object } from "../../device/protocol/schema.js";
import { queued } from "../rollouts/device-step.js";
import type { Change } from "../rollouts/machine.js";
import type { DeviceStep, Head, Rollout } from "../rollouts/rollout.js";
import type { RolloutRecords } from "../rollouts/store.js";
import { type Bucket, BusError } from "./bus.js";
import { commit, parse, RolloutMirror, type RolloutMirrorOptions } from "./rollout-mirror.js";

export interface RolloutBucketOptions extends Omit<RolloutMirrorOptions, "onForeign"> {
	/** Whether this gateway drives the roll-outs. */
	readonly isDriver: () => boolean;
	/** Called when another gateway has written, or when it is not known whether this one has. */
	readonly onStale: () => void;
}

const offerValue = object({ commit, isSent: boolean() });

/** A value is at most 1 MB. */
const stepsAtOnce = 500;
const idsAtOnce = 5_000;

export class RolloutBucket implements RolloutRecords {
	readonly #options: RolloutBucketOptions;
	readonly #mirror: RolloutMirror;
	#bucket: Bucket | undefined;

	constructor(options: RolloutBucketOptions) {
		this.#options = options;
		this.#mirror = new RolloutMirror({ ...options, onForeign: options.onStale });
	}

	/** Gateways stay ready without the bus. */
	readonly readinessProblem = undefined;

	/** Mirrors a bucket from now on. @throws {BusError} */
	async open(bucket: Bucket): Promise<void> {
		await bucket.watch((key, entry) => this.#mirror.told(key, entry));
		this.#bucket = bucket;
	}

	/** @returns undefined if there is none of this id */
	find(id: string): Rollout | undefined {
		return this.#mirror.rollout(id);
	}

	/** Of a roll-out; 0: there is none. */
	commitOf(id: string): number {
		return this.find(id) ? this.#mirror.keptOf(id).commit : 0;
	}

	/** Resolves once this gateway has seen a commit, or 0 for the removal, or after 5 s. */
	async reached(id: string, commit: number): Promise<void> {
		await this.#mirror.hasReached(id, commit);
	}

	async load(): Promise<readonly Rollout[]> {
		return this.#mirror.ids().flatMap((id) => this.find(id) ?? []);
	}

	/** Some of its latest steps have no key of their own yet, which the next `append` repairs. */
	hasFailed(id: string): boolean {
		return this.find(id) !== undefined && this.#unflushed(id).length > 0;
	}

	/**
	 * Takes over from the previous driver, whose next write fails from then on.
	 * @returns false if not all could be taken over
	 */
	async claim(): Promise<boolean> {
		const bucket = this.#bucket;
		if (!bucket) return false;
		return whether(async () => {
			for (const id of this.#mirror.ids()) {
				if (!this.find(id)) await this.#removeKeys(bucket, id);
				else if (!(await this.#claim(bucket, id))) return false;
			}
			return true;
		});
	}

	/** Not only for the driver: a gateway's disk may have one of the time before it joined. */
	async create(rollout: Rollout): Promise<boolean> {
		const bucket = this.#bucket;
		const { id, createdAt, asked, plan, head } = rollout;
		if (!bucket || this.find(id)) return false;
		return whether(async () => {
			// Of an attempt that was not completed.
			await this.#removeKeys(bucket, id);
			const devices = [...rollout.devices.values()];
			const moved = devices.filter((step) => !isDeepStrictEqual(step, queued(step.deviceId, step.at)));
			await this.#enqueue(bucket, id, devices);
			for (const steps of inParts(moved, stepsAtOnce)) {
				this.#mirror.commit(id, head, 1, steps);
				await this.#flush(bucket, id);
			}
			if (!(await this.#writeHead(bucket, id, { commit: 1, head, devices: [] }, 0))) return false;
			// The plan last: without it there is no roll-out.
			const content = JSON.stringify({ schema: 1, createdAt, plan, asked });
			if (!(await this.#write(bucket, `${id}/plan`, content, 0))) return false;
			this.#mirror.keptOf(id).plan = { createdAt, asked, plan };
			this.#mirror.touch(id);
			return true;
		});
	}

	async append({ id, head }: Rollout, change: Change): Promise<boolean> {
		const { isDriver, onStale } = this.#options;
		const bucket = this.#bucket;
		if (!bucket || !this.find(id)) return false;
		const isWritten = await whether(async () => {
			for (const devices of inParts(change.devices, stepsAtOnce)) {
				const revision = this.#mirror.revisionOf(`${id}/head`);
				// The steps of the commit before are nowhere else once the head is written.
				if (isDriver()) await this.#flush(bucket, id);
				if (!isDriver()) return false;
				const commit = this.#mirror.keptOf(id).commit + 1;
				if (!(await this.#writeHead(bucket, id, { commit, head, devices }, revision))) return false;
			}
			return true;
		});
		if (!isWritten) onStale();
		// If that fails, the next `append` repairs it.
		else await whether(() => this.#flush(bucket, id));
		return isWritten;
	}

	async remove(id: string): Promise<boolean> {
		const { isDriver, onStale } = this.#options;
		const bucket = this.#bucket;
		const key = `${id}/plan`;
		const revision = this.#mirror.revisionOf(key);
		const isGone = await whether(async () => isDriver() && (await bucket?.remove(key, revision)) === true);
		if (!isGone || !bucket) {
			onStale();
			return false;
		}
		this.#mirror.learn(key, undefined);
		// What remains is removed by the next driver.
		await whether(() => this.#removeKeys(bucket, id));
		return true;
	}

	/** The commit by which a device reached its present step. */
	stepCommitOf(id: string, deviceId: string): number {
		return this.#mirror.keptOf(id).steps.get(deviceId)?.commit ?? 0;
	}

	/**
	 * Marks an offer as sent, before it is sent, or as recalled, whichever comes first.
	 * @param commit of the step `offered`
	 * @returns undefined if this call has marked it; otherwise whether it was sent
	 * @throws {BusError}
	 */
	async mark(id: string, deviceId: string, commit: number, isSent: boolean): Promise<boolean | undefined> {
		const key = `${id}/offer/${deviceId}`;
		for (;;) {
			if (!this.#bucket) throw new BusError("away", "The bucket of roll-outs is not open.");
			const entry = await this.#bucket.get(key);
			const known = entry && parse(entry.text);
			if (matches(offerValue, known) && known.commit >= commit) return known.isSent;
			const text = JSON.stringify({ commit, isSent });
			if ((await this.#bucket.set(key, text, entry?.revision ?? 0)) !== undefined) return undefined;
		}
	}

	/** @throws {BusError} */
	async #claim(bucket: Bucket, id: string): Promise<boolean> {
		for (;;) {
			const entry = await bucket.get(`${id}/head`);
			if (!entry || !(await this.#mirror.hasSeen(entry.revision))) return false;
			await this.#flush(bucket, id);
			const { commit, head } = this.#mirror.keptOf(id);
			if (!head) return false;
			const next = { commit: commit + 1, head, devices: [] };
			if (await this.#writeHead(bucket, id, next, entry.revision)) return true;
		}
	}

	/** Gives each step of the latest commit a key of its own. @throws {BusError} */
	async #flush(bucket: Bucket, id: string): Promise<true> {
		const { queue } = this.#mirror.keptOf(id);
		const steps = this.#unflushed(id);
		if (steps.length === 0) return true;
		const known = new Set([...queue.values()].flatMap((each) => each.map(({ deviceId }) => deviceId)));
		await this.#enqueue(
			bucket,
			id,
			steps.filter(({ deviceId }) => !known.has(deviceId)),
		);
		await Promise.all(steps.map(({ deviceId }) => this.#flushStep(bucket, id, deviceId)));
		return true;
	}

	async #flushStep(bucket: Bucket, id: string, deviceId: string): Promise<void> {
		const { steps, flushed } = this.#mirror.keptOf(id);
		const key = `${id}/device/${deviceId}`;
		for (;;) {
			const content = steps.get(deviceId);
			if (!content || (flushed.get(deviceId) ?? 0) >= content.commit) return;
			if (await this.#write(bucket, key, JSON.stringify(content), this.#mirror.revisionOf(key))) {
				flushed.set(deviceId, content.commit);
				return;
			}
			// Written by another gateway, or by this one with a lost answer.
			this.#mirror.learn(key, await bucket.get(key));
		}
	}

	#unflushed(id: string): readonly DeviceStep[] {
		const { latest, steps, flushed } = this.#mirror.keptOf(id);
		return latest.filter(({ deviceId }) => (flushed.get(deviceId) ?? 0) < (steps.get(deviceId)?.commit ?? 0));
	}

	/** @throws {BusError} */
	async #enqueue(bucket: Bucket, id: string, steps: readonly DeviceStep[]): Promise<void> {
		const { queue } = this.#mirror.keptOf(id);
		for (const [first, ...others] of inParts(steps, idsAtOnce)) {
			if (!first) return;
			const ids = [first, ...others].map(({ deviceId }) => deviceId);
			const name = String(Math.max(-1, ...[...queue.keys()].map(Number)) + 1);
			const key = `${id}/queue/${name}`;
			if (!(await this.#write(bucket, key, JSON.stringify({ at: first.at, ids }), 0)))
				throw new BusError("timeout", `${key} was written by another gateway.`);
			queue.set(
				name,
				ids.map((deviceId) => queued(deviceId, first.at)),
			);
		}
	}

	/** @throws {BusError} */
	async #removeKeys(bucket: Bucket, id: string): Promise<true> {
		const remove = async (key: string) => {
			if (await bucket.remove(key, this.#mirror.revisionOf(key))) this.#mirror.learn(key, undefined);
		};
		await Promise.all(this.#mirror.keysOf(id).map(remove));
		return true;
	}

	/** As `#write`. */
	async #writeHead(
		bucket: Bucket,
		id: string,
		value: { readonly commit: number; readonly head: Head; readonly devices: readonly DeviceStep[] },
		revision: number,
	): Promise<boolean> {
		const text = JSON.stringify({ ...value, by: this.#options.gatewayId });
		if (!(await this.#write(bucket, `${id}/head`, text, revision))) return false;
		this.#mirror.commit(id, value.head, value.commit, value.devices);
		return true;
	}

	/** @returns false if another revision was there @throws {BusError} */
	async #write(bucket: Bucket, key: string, text: string, revision: number): Promise<boolean> {
		const written = await bucket.set(key, text, revision);
		if (written !== undefined) this.#mirror.wrote(key, written);
		return written !== undefined;
	}
}

/** @returns false also if the bus fails, and it may be done or not */
async function whether(work: () => Promise<boolean>): Promise<boolean> {
	try {
		return await work();
	} catch (error) {
		if (error instanceof BusError) return false;
		throw error;
	}
}

/** At least one part. */
function inParts<T>(list: readonly T[], most: number): readonly (readonly T[])[] {
	const starts = Array.from({ length: Math.max(1, Math.ceil(list.length / most)) }, (_, at) => at * most);
	return starts.map((start) => list.slice(start, start + most));
}
