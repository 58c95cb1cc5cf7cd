/** Rollouts under faults, with clocks that jump back, compared with their plans. */

import { setTimeout as pause } from "node:timers/promises";
import { type Rollout, sum } from "../../gateway/api/client/rollout.js";
import { failureStatuses, isOver, slotStatuses } from "../../gateway/api/statuses.js";
import { Images } from "./images.js";
import { type Place, stepMs, type World } from "./world.js";

/** Maximum number of rollouts; the gateway keeps 20. */
export const maxRollOuts = 18;
const devices = 8;
/** Attempts per device, unless its updates were damaged. */
export const maxAttempts = 2;
const concurrency = 3;
const maxFailures = 2;
const group = { size: "rest", concurrency, errorThreshold: { count: maxFailures }, soakSeconds: 2 };
/** The gateway's clock may be set ahead by more than a year. */
const deadline = "9999-12-31T00:00:00Z";

export class Rollouts {
	readonly #world: World;
	/** Number of requested rollouts. */
	count = 0;
	/** Acknowledged rollouts. */
	readonly #ids = new Set<string>();
	#isLooking = false;

	constructor(world: World) {
		this.#world = world;
	}

	/** Plans one for `first` and the devices after it, then sets the clock back. */
	async start(first: Place, backMs: number): Promise<void> {
		const { gateway, journal, places } = this.#world;
		this.count += 1;
		const version = Images.rollOut(this.count);
		const at = places.indexOf(first);
		const chosen = [...places, ...places].slice(at, at + devices);
		for (const { record } of chosen) record.askedAt.set(version, performance.now());
		const plan = {
			firmware: { version },
			target: { devices: chosen.map(({ record }) => record.deviceId) },
			groups: [group],
			maxAttempts,
			allowDowngrade: true,
			deadline,
		};
		const id = `r${this.count}`;
		const body = JSON.stringify(plan);
		const { status, text } = await gateway.request(`/api/rollouts/${id}`, { method: "PUT", body });
		journal.note(`rollout ${id}: ${status} ${status < 400 ? "" : text}`);
		journal.count(`rollout: ${status}`);
		if (status === 201) this.#ids.add(id);
		if (backMs === 0) return;
		await pause(stepMs);
		await gateway.setClock(-backMs);
	}

	/** Skipped while the last query is pending. */
	async look(): Promise<void> {
		if (this.#isLooking) return;
		this.#isLooking = true;
		for (const id of this.#ids) await this.#read(id);
		this.#isLooking = false;
	}

	/** Prevents further updates. */
	async cancel(): Promise<void> {
		const { gateway } = this.#world;
		for (const id of this.#ids) await gateway.request(`/api/rollouts/${id}/cancel`, { method: "POST" });
	}

	/** @returns id and status of a rollout that has not ended although all its devices are connected and done */
	async findUnended(): Promise<string | undefined> {
		for (const id of this.#ids) {
			const rollout = await this.#read(id);
			if (!rollout) return `${id} cannot be read`;
			const held = sum(rollout.counts, slotStatuses);
			if (!isOver(rollout) || held > 0)
				return `${id} is ${rollout.status}, and ${held} of its devices occupy slots`;
		}
		return undefined;
	}

	/** @returns undefined if the gateway does not respond now */
	async #read(id: string): Promise<Rollout | undefined> {
		const { gateway, journal } = this.#world;
		const { status, text } = await gateway.request(`/api/rollouts/${id}`);
		if (status === 404) journal.break(`the acknowledged rollout ${id} is lost`);
		if (status !== 200) return undefined;
		const rollout: Rollout = JSON.parse(text);
		const held = sum(rollout.counts, slotStatuses);
		const failed = sum(rollout.counts, failureStatuses);
		if (held > concurrency) journal.break(`${id}: ${held} devices occupy slots, of ${concurrency}`);
		// It pauses with the step in which the limit is reached.
		if (rollout.status === "running" && failed >= maxFailures && rollout.counts.queued > 0)
			journal.break(`${id} continues after ${failed} failures, of ${maxFailures}`);
		return rollout;
	}
}
