/**
 * Executes rollouts: compares each active one with its devices twice a second, stores the resulting steps,
 * then starts updates and notifies monitors. In a cluster, each gateway follows the devices connected to it, and all
 * follow those that are away; of two concurrent changes, the second is rejected and computed again.
 */

import { isDeepStrictEqual } from "node:util";
import type { FrameOf } from "../api/frames.js";
import { countsOf, type DeviceStep, noCounts, type Plan, type Rollout } from "../api/rollout.js";
import { isOver } from "../api/statuses.js";
import { isDue } from "../api/time.js";
import type { Base } from "../base.js";
import type { UpdateRejection } from "../firmware/rejections.js";
import { RequestError, requireFound } from "../problem.js";
import type { Device } from "../sessions/device.js";
import { Queue } from "../storage/queue.js";
import { Attempts, type AttemptsOptions } from "./attempts.js";
import { RolloutClock } from "./clock.js";
import { executeCommand, type RolloutCommand } from "./commands.js";
import {
	findObstacle,
	type GetSnapshot,
	holdsSlot,
	isRetrying,
	queued,
	settleMs,
	soakSecondsLeft,
	type Timing,
	withStatus,
} from "./device-step.js";
import { advance, apply, type Change, firstHead, isActive } from "./machine.js";
import { completePlan, type PlanOptions, targetsOf } from "./plan.js";
import { isBehind, isLater, isStanding, isUpdating, updateMembers, withRelease } from "./standing.js";
import type { RolloutStore } from "./store.js";

export interface RolloutsOptions extends AttemptsOptions, PlanOptions, Pick<Base, "storage"> {
	readonly store: RolloutStore;
	/** Whether other gateways execute the same rollouts. */
	readonly isShared: boolean;
	/** Notifies monitors and extensions. */
	readonly announce: (frame: FrameOf<"rollout_update">) => void;
}

const intervalMs = 500;
const announceMs = 1_000;
const maxRollouts = 20;
/** Delay in a cluster after reading the rollouts, by which this gateway knows the devices of the others. */
const learningMs = 10_000;

export class Rollouts {
	readonly #options: RolloutsOptions;
	/** Serializes all changes. */
	readonly #queue = new Queue();
	/** Ids of the rollouts that have changed since the latest notification. */
	readonly #changed = new Set<string>();
	/** Monotonic time of the latest notification. */
	#announcedAt = Number.NEGATIVE_INFINITY;
	readonly #clock: RolloutClock;
	readonly #attempts: Attempts;
	/** Monotonic time from which this gateway executes rollouts. */
	#begunAt = 0;
	#timer: NodeJS.Timeout | undefined;

	constructor(options: RolloutsOptions) {
		this.#options = options;
		this.#clock = new RolloutClock(options);
		this.#attempts = new Attempts(options);
		options.store.onChange = (id, removed) => this.#onChange(id, removed);
		options.store.onRead = () => this.#onRead();
	}

	/** Resumes rollouts of the store, which is already open. */
	open(): void {
		this.#changed.clear();
		this.#resume();
		this.#timer = setInterval(() => void this.advance(), intervalMs).unref();
	}

	async close(): Promise<void> {
		clearInterval(this.#timer);
		await this.#queue.settle();
	}

	/** Reason why steps cannot be stored, or undefined. */
	get readinessProblem(): string | undefined {
		return this.#options.store.readinessProblem;
	}

	/** Returns all rollouts, newest first. */
	list(): readonly Rollout[] {
		return [...this.#options.store.list()].sort((a, b) => b.createdAt - a.createdAt);
	}

	/** Returns rollouts whose devices may still change. */
	active(): readonly Rollout[] {
		return this.list().filter(isActive);
	}

	/** @throws {RequestError} 404 */
	find(id: string): Rollout {
		const detail = `Rollout ${id} not found. GET /api/rollouts lists all.`;
		return requireFound(this.#options.store.find(id), detail);
	}

	/**
	 * Returns the longest remaining soak time of these devices, in seconds.
	 * @returns null if none soaks
	 */
	soakSecondsLeft(rollout: Rollout, steps: Iterable<DeviceStep> = rollout.devices.values()): number | null {
		let most: number | null = null;
		for (const step of steps) {
			const left = soakSecondsLeft(rollout, step, this.#clock.now());
			if (left !== null) most = Math.max(most ?? 0, left);
		}
		return most;
	}

	/**
	 * Counts the devices that wait for another attempt. `retryAt` is the time from which the first of them may begin,
	 * in milliseconds since 1970; null if it is unknown or they are offline.
	 */
	retriesOf({ devices }: Rollout): { readonly retrying: number; readonly retryAt: number | null } {
		const steps = [...devices.values()].filter(isRetrying);
		const delays = steps.flatMap(({ deviceId }) => this.#attempts.delayOf(deviceId) ?? []);
		const retryAt = delays.length > 0 ? this.#options.now() + Math.min(...delays) : null;
		return { retrying: steps.length, retryAt };
	}

	/**
	 * Creates a rollout, or returns the existing one with this id and the same plan.
	 * @throws {RequestError} 409, 422, and 507 or 503 if it cannot be stored
	 */
	put(id: string, asked: unknown): Promise<{ readonly rollout: Rollout; readonly isNew: boolean }> {
		return this.#queue.add(async () => {
			const { store, yieldToLoop } = this.#options;
			const isNew = await this.#store(id, async () => {
				const known = store.find(id);
				if (!known) return (await store.create(await this.#make(id, asked))) && "created";
				if (isDeepStrictEqual(known.asked, asked) || isDeepStrictEqual(known.plan, asked)) return "known";
				throw new RequestError(409, `Rollout ${id} exists with a different plan. Choose another id.`);
			});
			if (isNew === "created") {
				await this.#makeRoom();
				await yieldToLoop();
				await this.#step(id);
			}
			return { rollout: this.find(id), isNew: isNew === "created" };
		});
	}

	/** @throws {RequestError} 409, 422 */
	async #make(id: string, asked: unknown): Promise<Rollout> {
		const plan = await completePlan(asked, this.#options);
		const ids = targetsOf(plan.target, this.#options.devices);
		if (ids.length === 0 && !plan.standing) throw new RequestError(422, "target matches no known device.");
		this.#rejectBusy(ids, id);
		if (this.active().length >= maxRollouts)
			throw new RequestError(409, `${maxRollouts} rollouts are active, the maximum. Cancel one first.`);
		const at = this.#clock.now();
		const devices = new Map(ids.map((deviceId) => [deviceId, queued(deviceId, at)]));
		return { id, createdAt: this.#options.now(), asked, plan, head: firstHead, devices };
	}

	/**
	 * Counts the devices that a plan would update or skip.
	 * @throws {RequestError} 422
	 */
	async preview(asked: unknown) {
		const plan = await completePlan(asked, this.#options);
		await this.#options.yieldToLoop();
		const ids = targetsOf(plan.target, this.#options.devices);
		const held = this.#rolloutsByDevice();
		const seen = ids.flatMap((id) => this.#snapshotOf(id) ?? []);
		const kinds = seen.map((device) => findObstacle({ ...plan, allowDowngrade: false }, device)?.kind);
		const count = (kind: string) => kinds.filter((kindOfDevice) => kindOfDevice === kind).length;
		return {
			total: ids.length,
			away: seen.filter(({ isConnected }) => !isConnected).length,
			alreadyInstalled: count("alreadyInstalled"),
			downgrades: count("downgrades"),
			doNotFit: count("doNotFit"),
			busy: ids.filter((id) => held.has(id)).length,
			plan,
		};
	}

	/**
	 * @param revision expected revision; undefined: any
	 * @throws {RequestError} 404, 409, 412, and 507 or 503 if it cannot be stored
	 */
	execute(id: string, command: RolloutCommand, revision: number | undefined): Promise<Rollout> {
		return this.#queue.add(async () => {
			await this.#store(id, () => {
				const rollout = this.find(id);
				if (revision !== undefined && revision !== rollout.head.revision)
					throw new RequestError(
						412,
						`The rollout was changed concurrently. Review revision ${rollout.head.revision} and try again.`,
					);
				const change = executeCommand(rollout, command, this.#clock.timingOf(rollout));
				if (typeof change === "string") throw new RequestError(409, change);
				if (command === "retry")
					this.#rejectBusy(
						change.devices.map(({ deviceId }) => deviceId),
						id,
					);
				// Committed even if nothing changes, to detect a concurrent change by another gateway.
				return this.#commit(rollout, change);
			});
			await this.#step(id);
			return this.find(id);
		});
	}

	/** @throws {RequestError} 404, 409, and 507 or 503 if it cannot be removed */
	remove(id: string): Promise<void> {
		return this.#queue.add(async () => {
			await this.#store(id, () => {
				if (isActive(this.find(id))) throw new RequestError(409, "The rollout is active. Cancel it first.");
				return this.#options.store.remove(id);
			});
		});
	}

	/**
	 * Replaces an old board by a new one in active rollouts that contain or name it, unless the new one is in
	 * another rollout.
	 * @throws {RequestError} 507 or 503 if it cannot be stored
	 */
	replaceDevice(from: string, by: string): Promise<void> {
		return this.#queue.add(async () => {
			// Start with the rollout in which the old board is pending, as the new one can be in only one.
			const held = this.#rolloutsByDevice().get(from);
			for (const { id } of [...(held ? [held] : []), ...this.active()])
				await this.#store(id, async () => {
					const rollout = this.#options.store.find(id);
					const change = rollout ? this.#replacing(rollout, from, by) : [];
					return !rollout || change.length === 0 || this.#commit(rollout, { devices: change });
				});
		});
	}

	#replacing({ plan: { target }, head, devices }: Rollout, from: string, by: string): readonly DeviceStep[] {
		const step = devices.get(from);
		const left = step && (step.status === "queued" || holdsSlot(step)) ? [step] : [];
		const isIn = left.length > 0 || ("devices" in target && target.devices.includes(from));
		const joins = isIn && !isOver(head) && !devices.has(by) && !this.#rolloutsByDevice().has(by);
		const now = this.#clock.now();
		return [
			...left.map((device) => withStatus(device, "removed", now, `Replaced by ${by}.`)),
			...(joins ? [queued(by, now)] : []),
		];
	}

	/**
	 * Stores a requested change, and retries if another gateway changed the rollout first.
	 * @param attempt returns like `RolloutStore.append`
	 * @throws {RequestError} 507 or 503 if it cannot be stored
	 */
	async #store<T>(id: string, attempt: () => Promise<T | false | undefined>): Promise<T> {
		const { store, storage } = this.#options;
		for (;;) {
			const before = store.revisionOf(id);
			const result = await attempt();
			if (result !== false && result !== undefined) return result;
			if (result === false && (await store.waitForRevision(id, before + 1))) continue;
			const where = storage.status === 507 ? "; see /readyz" : "; try again";
			throw new RequestError(storage.status, `The rollout could not be written to ${storage.place}${where}.`);
		}
	}

	/** @returns rejection of a manual update while a rollout updates the device */
	findHolder(device: Device): UpdateRejection | undefined {
		const holder = this.#holderOf(device.deviceId);
		if (!holder) return undefined;
		const message = `Rollout ${holder.id} is updating this device. Wait until it is done.`;
		return { code: "ota_in_progress", message };
	}

	/** The rollout in which a device holds a slot. */
	#holderOf(deviceId: string): Rollout | undefined {
		return this.#options.store.list().find(({ devices }) => {
			const step = devices.get(deviceId);
			return step && holdsSlot(step);
		});
	}

	/** Advances every active rollout as far as possible. */
	advance(): Promise<void> {
		return this.#queue.add(async () => {
			const { store } = this.#options;
			for (const rollout of this.list())
				if (isActive(rollout) || hasTimedOut(rollout) || store.readinessProblem) await this.#step(rollout.id);
			this.#announce();
		});
	}

	async #step(id: string): Promise<void> {
		const { store, log, monotonic } = this.#options;
		const later = await this.#findLater(id);
		const rollout = store.find(id);
		if (!rollout || monotonic() < this.#begunAt) return;
		const timing = this.#clock.timingOf(rollout);
		if (!later || !isStanding(rollout, timing) || !isLater(rollout.plan, later.version))
			return this.#advance(rollout, timing);
		// No other device gets the earlier release until the updates in progress end.
		if (isUpdating(rollout, timing.now)) return this.#advance(rollout, { ...timing, isOpen: false });
		const next = withRelease(rollout, later, timing.now);
		if (!(await store.restart(next))) return;
		log.info(
			{ rollout: id, version: later.version, ...next.head },
			"rollout: continues with a later release",
		);
		await this.#step(id);
	}

	/** Returns the latest release of the channel that a standing rollout follows, possibly its own. */
	async #findLater(id: string): Promise<Plan["firmware"] | undefined> {
		const { selection, store } = this.#options;
		const { plan } = store.find(id) ?? {};
		if (!plan?.standing || plan.firmware.channel === undefined) return undefined;
		const pinned = await selection.pin({ channel: plan.firmware.channel });
		return "rejection" in pinned ? undefined : pinned;
	}

	async #advance(rollout: Rollout, timing: Timing): Promise<void> {
		const { store } = this.#options;
		const joined = isStanding(rollout, timing) ? this.#join(rollout, timing) : [];
		const grown = apply(rollout, { devices: joined });
		const { head, devices } = advance(grown, this.#snapshotOf, timing);
		// Two gateways may create rollouts with the same device at the same time.
		const free = devices.filter(
			({ deviceId, status }) =>
				status !== "offered" || (this.#holderOf(deviceId) ?? rollout).id === rollout.id,
		);
		const change = { ...(head && { head }), devices: [...joined, ...free] };
		if (head || change.devices.length > 0 || store.readinessProblem) await this.#commit(rollout, change);
	}

	/**
	 * Stores a change, then starts its updates.
	 * @returns like `RolloutStore.append`; unless true, no update starts
	 */
	async #commit(rollout: Rollout, change: Change): Promise<boolean | undefined> {
		const { store } = this.#options;
		const isStored = await store.append(rollout.id, change);
		const next = store.find(rollout.id);
		if (!isStored || !next) return isStored;
		const { head } = change;
		if (head) this.#options.log.info({ rollout: rollout.id, ...head }, `rollout: ${head.status}`);
		for (const step of change.devices) {
			if (isRetrying(step)) this.#attempts.delay(step.deviceId);
			if (step.status === "offered") void this.#attempts.begin(next, step.deviceId);
		}
		return true;
	}

	/** Returns devices that join or leave a standing rollout. */
	#join(rollout: Rollout, { now }: Timing): readonly DeviceStep[] {
		const { devices, now: wall } = this.#options;
		// The known version of another gateway's device may be outdated for a while.
		const rejoins = (step: DeviceStep) => {
			const { session, firmwareVersion } = devices.get(step.deviceId) ?? {};
			if (!session || firmwareVersion === rollout.plan.firmware.version) return false;
			const isSettled = isDue(session.connectedAt + settleMs, wall(), settleMs);
			return isSettled && isBehind(rollout, step, this.#snapshotOf);
		};
		const ids = targetsOf(rollout.plan.target, devices);
		const steps = updateMembers(rollout, ids, rejoins, this.#snapshotOf, now);
		const held = steps.some(({ status }) => status === "queued") ? this.#rolloutsByDevice() : undefined;
		return steps.filter(({ deviceId, status }) => status !== "queued" || !held?.has(deviceId));
	}

	readonly #snapshotOf: GetSnapshot = (id) => this.#attempts.snapshotOf(id);

	/** Returns the active rollout in which each device is pending, by device id. */
	#rolloutsByDevice(): ReadonlyMap<string, Rollout> {
		const held = new Map<string, Rollout>();
		for (const rollout of this.active())
			for (const step of rollout.devices.values())
				if (step.status === "queued" || holdsSlot(step)) held.set(step.deviceId, rollout);
		return held;
	}

	/** @throws {RequestError} 409 if a device is in another active rollout */
	#rejectBusy(deviceIds: readonly string[], except: string): void {
		const held = this.#rolloutsByDevice();
		for (const deviceId of deviceIds) {
			const holder = held.get(deviceId);
			if (holder && holder.id !== except)
				throw new RequestError(
					409,
					`${deviceId} is in rollout ${holder.id}. Wait until that is done, or cancel it.`,
				);
		}
	}

	/** Removes the oldest inactive rollouts. A failed removal is retried when the next one is added. */
	async #makeRoom(): Promise<void> {
		for (const rollout of this.list().toReversed()) {
			if (this.list().length <= maxRollouts) return;
			if (isActive(rollout)) continue;
			if (!(await this.#options.store.remove(rollout.id))) return;
		}
	}

	#onChange(id: string, removed: Rollout | undefined): void {
		if (!removed) return void this.#changed.add(id);
		this.#changed.delete(id);
		this.#options.announce(frameOf(removed, true));
	}

	#announce(): void {
		const { announce, monotonic, store } = this.#options;
		if (this.#changed.size === 0 || monotonic() - this.#announcedAt < announceMs) return;
		this.#announcedAt = monotonic();
		for (const id of this.#changed) {
			const rollout = store.find(id);
			if (rollout) announce(frameOf(rollout));
		}
		this.#changed.clear();
	}

	/** Waits until this gateway knows which devices others have, after its start or a disconnection from them. */
	#onRead(): void {
		const { isShared, monotonic } = this.#options;
		if (!isShared) return;
		this.#begunAt = monotonic() + learningMs;
		this.#attempts.awaitReturns();
	}

	/**
	 * Resumes rollouts after a restart. The time since the latest step does not count, as the gateway did not
	 * observe the devices or its clock was behind; in a cluster, others did.
	 */
	#resume(): void {
		const latest = this.#clock.catchUp(this.active());
		if (this.#options.isShared) return;
		const pausedMs = this.#clock.now() - latest;
		for (const rollout of this.active()) {
			const held = [...rollout.devices.values()].filter(holdsSlot);
			const devices = held.map((step) => ({ ...step, at: step.at + pausedMs }));
			this.#options.store.show(rollout.id, devices);
		}
	}
}

/** Whether devices may still return with the new firmware, even after the end of the rollout. */
function hasTimedOut({ devices }: Rollout): boolean {
	return [...devices.values()].some(({ status }) => status === "timed_out");
}

/** Returns the `rollout_update` frame for monitors. */
export function frameOf({ id, plan, head, devices }: Rollout, isDeleted = false): FrameOf<"rollout_update"> {
	const { status, pausedBecause = null, revision } = head;
	const counts = isDeleted ? noCounts : countsOf(devices.values());
	const shown = isDeleted ? "deleted" : status;
	const { version } = plan.firmware;
	return { type: "rollout_update", id, version, status: shown, pausedBecause, counts, revision };
}
