/**
 * The roll-outs in a bucket that all gateways watch. Only the one that drives them writes: each change is one write of
 * the roll-out's head, by compare and set, which carries the devices' steps; then each step gets a key of its own. So a
 * driver that has lost its lease unnoticed can store no step once the next one has claimed the heads.
 */

import { isDeepStrictEqual } from "node:util";
import { boolean, matches, object } from "../../../device/protocol/schema.js";
import type { Rollout } from "../../api/rollout.js";
import { type Bucket, BusError } from "../../bus.js";
import { queued } from "../device-step.js";
import type { Change } from "../machine.js";
import type { RolloutRecords } from "../store.js";
import { inParts, RolloutKeys } from "./rollout-keys.js";
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

export class RolloutBucket implements RolloutRecords {
	readonly #options: RolloutBucketOptions;
	readonly #mirror: RolloutMirror;
	#keys: RolloutKeys | undefined;

	constructor(options: RolloutBucketOptions) {
		this.#options = options;
		this.#mirror = new RolloutMirror({ ...options, onForeign: options.onStale });
	}

	/** Gateways stay ready without the bus. */
	readonly readinessProblem = undefined;

	/** Mirrors a bucket from now on. @throws {BusError} */
	async open(bucket: Bucket): Promise<void> {
		await bucket.watch((key, entry) => this.#mirror.told(key, entry));
		const { gatewayId } = this.#options;
		this.#keys = new RolloutKeys({ bucket, mirror: this.#mirror, gatewayId });
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
		return this.find(id) !== undefined && (this.#keys?.unflushed(id).length ?? 0) > 0;
	}

	/**
	 * Takes over from the previous driver, whose next write fails from then on.
	 * @returns false if not all could be taken over
	 */
	async claim(): Promise<boolean> {
		const keys = this.#keys;
		if (!keys) return false;
		return whether(async () => {
			for (const id of this.#mirror.ids()) {
				if (!this.find(id)) await keys.removeAll(id);
				else if (!(await this.#claim(keys, id))) return false;
			}
			return true;
		});
	}

	/** Not only for the driver: a gateway's disk may have one of the time before it joined. */
	async create(rollout: Rollout): Promise<boolean> {
		const keys = this.#keys;
		const { id, createdAt, asked, plan, head } = rollout;
		if (!keys || this.find(id)) return false;
		return whether(async () => {
			// Of an attempt that was not completed.
			await keys.removeAll(id);
			const devices = [...rollout.devices.values()];
			const moved = devices.filter((step) => !isDeepStrictEqual(step, queued(step.deviceId, step.at)));
			await keys.enqueue(id, devices);
			for (const steps of inParts(moved, stepsAtOnce)) {
				this.#mirror.commit(id, head, 1, steps);
				await keys.flush(id);
			}
			if (!(await keys.writeHead(id, { commit: 1, head, devices: [] }, 0))) return false;
			// The plan last: without it there is no roll-out.
			const content = JSON.stringify({ schema: 1, createdAt, plan, asked });
			if (!(await keys.write(`${id}/plan`, content, 0))) return false;
			this.#mirror.keptOf(id).plan = { createdAt, asked, plan };
			this.#mirror.touch(id);
			return true;
		});
	}

	async append({ id, head }: Rollout, change: Change): Promise<boolean> {
		const { isDriver, onStale } = this.#options;
		const keys = this.#keys;
		if (!keys || !this.find(id)) return false;
		const isWritten = await whether(async () => {
			for (const devices of inParts(change.devices, stepsAtOnce)) {
				const revision = this.#mirror.revisionOf(`${id}/head`);
				// The steps of the commit before are nowhere else once the head is written.
				if (isDriver()) await keys.flush(id);
				if (!isDriver()) return false;
				const commit = this.#mirror.keptOf(id).commit + 1;
				if (!(await keys.writeHead(id, { commit, head, devices }, revision))) return false;
			}
			return true;
		});
		if (!isWritten) onStale();
		// If that fails, the next `append` repairs it.
		else await whether(() => keys.flush(id));
		return isWritten;
	}

	async remove(id: string): Promise<boolean> {
		const { isDriver, onStale } = this.#options;
		const keys = this.#keys;
		const key = `${id}/plan`;
		const revision = this.#mirror.revisionOf(key);
		const isGone = await whether(
			async () => isDriver() && (await keys?.bucket.remove(key, revision)) === true,
		);
		if (!isGone || !keys) {
			onStale();
			return false;
		}
		this.#mirror.learn(key, undefined);
		// What remains is removed by the next driver.
		await whether(() => keys.removeAll(id));
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
			if (!this.#keys) throw new BusError("away", "The bucket of roll-outs is not open.");
			const { bucket } = this.#keys;
			const entry = await bucket.get(key);
			const known = entry && parse(entry.text);
			if (matches(offerValue, known) && known.commit >= commit) return known.isSent;
			const text = JSON.stringify({ commit, isSent });
			if ((await bucket.set(key, text, entry?.revision ?? 0)) !== undefined) return undefined;
		}
	}

	/** @throws {BusError} */
	async #claim(keys: RolloutKeys, id: string): Promise<boolean> {
		for (;;) {
			const entry = await keys.bucket.get(`${id}/head`);
			if (!entry || !(await this.#mirror.hasSeen(entry.revision))) return false;
			await keys.flush(id);
			const { commit, head } = this.#mirror.keptOf(id);
			if (!head) return false;
			const next = { commit: commit + 1, head, devices: [] };
			if (await keys.writeHead(id, next, entry.revision)) return true;
		}
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
