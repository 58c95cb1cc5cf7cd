/** Writes the keys of roll-outs to their bucket, by compare and set, and to the mirror at once. */

import type { DeviceStep, Head } from "../../api/rollout.js";
import { type Bucket, BusError } from "../../bus.js";
import { queued } from "../device-step.js";
import type { RolloutMirror } from "./rollout-mirror.js";

export interface RolloutKeysOptions {
	readonly bucket: Bucket;
	readonly mirror: RolloutMirror;
	readonly gatewayId: string;
}

const idsAtOnce = 5_000;

export class RolloutKeys {
	readonly bucket: Bucket;
	readonly #mirror: RolloutMirror;
	readonly #gatewayId: string;

	constructor({ bucket, mirror, gatewayId }: RolloutKeysOptions) {
		this.bucket = bucket;
		this.#mirror = mirror;
		this.#gatewayId = gatewayId;
	}

	/** Gives each step of the latest commit a key of its own. @throws {BusError} */
	async flush(id: string): Promise<true> {
		const { queue } = this.#mirror.keptOf(id);
		const steps = this.unflushed(id);
		if (steps.length === 0) return true;
		const known = new Set([...queue.values()].flatMap((each) => each.map(({ deviceId }) => deviceId)));
		await this.enqueue(
			id,
			steps.filter(({ deviceId }) => !known.has(deviceId)),
		);
		await Promise.all(steps.map(({ deviceId }) => this.#flushStep(id, deviceId)));
		return true;
	}

	async #flushStep(id: string, deviceId: string): Promise<void> {
		const { steps, flushed } = this.#mirror.keptOf(id);
		const key = `${id}/device/${deviceId}`;
		for (;;) {
			const content = steps.get(deviceId);
			if (!content || (flushed.get(deviceId) ?? 0) >= content.commit) return;
			if (await this.write(key, JSON.stringify(content), this.#mirror.revisionOf(key))) {
				flushed.set(deviceId, content.commit);
				return;
			}
			// Written by another gateway, or by this one with a lost answer.
			this.#mirror.learn(key, await this.bucket.get(key));
		}
	}

	/** Steps of the latest commit that have no key of their own yet. */
	unflushed(id: string): readonly DeviceStep[] {
		const { latest, steps, flushed } = this.#mirror.keptOf(id);
		return latest.filter(({ deviceId }) => (flushed.get(deviceId) ?? 0) < (steps.get(deviceId)?.commit ?? 0));
	}

	/** Adds devices, in this order. @throws {BusError} */
	async enqueue(id: string, steps: readonly DeviceStep[]): Promise<void> {
		const { queue } = this.#mirror.keptOf(id);
		for (const [first, ...others] of inParts(steps, idsAtOnce)) {
			if (!first) return;
			const ids = [first, ...others].map(({ deviceId }) => deviceId);
			const name = String(Math.max(-1, ...[...queue.keys()].map(Number)) + 1);
			const key = `${id}/queue/${name}`;
			if (!(await this.write(key, JSON.stringify({ at: first.at, ids }), 0)))
				throw new BusError("timeout", `${key} was written by another gateway.`);
			queue.set(
				name,
				ids.map((deviceId) => queued(deviceId, first.at)),
			);
		}
	}

	/** Of a roll-out, as far as no other gateway has changed them. @throws {BusError} */
	async removeAll(id: string): Promise<true> {
		const remove = async (key: string) => {
			if (await this.bucket.remove(key, this.#mirror.revisionOf(key))) this.#mirror.learn(key, undefined);
		};
		await Promise.all(this.#mirror.keysOf(id).map(remove));
		return true;
	}

	/** As `write`. */
	async writeHead(
		id: string,
		value: { readonly commit: number; readonly head: Head; readonly devices: readonly DeviceStep[] },
		revision: number,
	): Promise<boolean> {
		const text = JSON.stringify({ ...value, by: this.#gatewayId });
		if (!(await this.write(`${id}/head`, text, revision))) return false;
		this.#mirror.commit(id, value.head, value.commit, value.devices);
		return true;
	}

	/** @returns false if another revision was there @throws {BusError} */
	async write(key: string, text: string, revision: number): Promise<boolean> {
		const written = await this.bucket.set(key, text, revision);
		if (written !== undefined) this.#mirror.wrote(key, written);
		return written !== undefined;
	}
}

/** At least one part. */
export function inParts<T>(list: readonly T[], most: number): readonly (readonly T[])[] {
	const starts = Array.from({ length: Math.max(1, Math.ceil(list.length / most)) }, (_, at) => at * most);
	return starts.map((start) => list.slice(start, start + most));
}
