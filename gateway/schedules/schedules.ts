/**
 * Executes schedules: a due one is claimed in its record, executed, and its outcome is written. In a cluster
 * all gateways try, and the one whose claim is written executes it. A claim without an outcome is taken over,
 * as its gateway may have failed.
 */

import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Infer } from "../../device/protocol/schema.js";
import { whenText } from "../api/client/times.js";
import { nextTime } from "../api/local-times.js";
import {
	checkedAction,
	maxReasonLength,
	maxSchedules,
	type Schedule,
	type ScheduleRequest,
	schedule,
} from "../api/schedule.js";
import type { Targets } from "../api/targets.js";
import { cutText } from "../api/text.js";
import { isDue } from "../api/time.js";
import { idOf } from "../digest.js";
import type { ScheduleFailure } from "../events.js";
import type { Core } from "../extension.js";
import { requireValid } from "../http/request-body.js";
import { RequestError } from "../problem.js";
import type { JobService } from "../services/jobs.js";
import { isoTime } from "../sessions/view.js";
import { Store } from "./store.js";

/** Schedules due longer ago are skipped. */
const missedMs = 5 * 60_000;
/** Time for which a completed schedule stays listed. */
const shownMs = 24 * 60 * 60_000;
/** Time after which a claim without an outcome is taken over, and an execution counts as late. */
const takeOverMs = 15_000;
const tickMs = 250;
/** Clock difference above which the system clock counts as changed. */
const setMs = 1_000;

export const scheduleLimits = Object.freeze({
	/** Delay after a start, during which devices reconnect. */
	scheduleSettleMs: 10_000,
});

type StoredSchedule = Infer<typeof schedule>;
type Action = Schedule["do"];
type Claim = NonNullable<StoredSchedule["claim"]>;
type Failure = Omit<ScheduleFailure, "id" | "name">;

export type SchedulesCore = Pick<
	Core,
	"now" | "monotonic" | "log" | "limits" | "records" | "peers" | "storage" | "services" | "events"
>;

export class Schedules {
	readonly #core: SchedulesCore;
	readonly #zone: string;
	readonly store: Store<typeof schedule>;
	/** Monotonic time at which a claim of another gateway or run was first seen, as wall clocks may differ. */
	readonly #seen = new WeakMap<Claim, number>();
	/** Monotonic time at which a timer is due, as it is a duration. */
	readonly #timers = new WeakMap<StoredSchedule, number>();
	/** Offset between wall and monotonic clock; undefined before the first tick. */
	#offset: number | undefined;
	/** Ids of schedules that this gateway is writing or executing. */
	readonly #busy = new Set<string>();
	#onLoaded = () => {};
	readonly #loaded = new Promise<void>((resolve) => {
		this.#onLoaded = resolve;
	});
	#isClosed = false;
	#settledAt = Number.POSITIVE_INFINITY;
	#timer: NodeJS.Timeout | undefined;

	/** @param zone IANA name of the gateway's time zone */
	constructor(core: SchedulesCore, zone: string) {
		this.#core = core;
		this.#zone = zone;
		this.store = new Store({
			core,
			name: "schedules",
			noun: "schedule",
			schema: schedule,
			onChange: () => {
				for (const record of this.store.all.values()) this.#dueAt(record);
			},
		});
	}

	/** @throws {Error} if its records are unavailable */
	async open(): Promise<void> {
		await this.store.open();
		await this.#moveToZone();
		this.#onLoaded();
		const { scheduleSettleMs } = { ...scheduleLimits, ...this.#core.limits };
		this.#settledAt = this.#core.monotonic() + scheduleSettleMs;
		this.#timer = setInterval(() => this.tick(), tickMs).unref();
	}

	/** Stops. Schedules still being prepared are executed after the next start or by another gateway. */
	close(): void {
		this.#isClosed = true;
		clearInterval(this.#timer);
	}

	/** Returns schedules by due time, then completed ones, latest first. */
	list(): readonly Schedule[] {
		const due = ({ nextAt }: Schedule) => (nextAt === null ? Number.POSITIVE_INFINITY : Date.parse(nextAt));
		return Array.from(this.store.all, ([id, record]) => this.#shown(id, record)).sort(
			(a, b) => due(a) - due(b) || b.createdAt.localeCompare(a.createdAt),
		);
	}

	/** Implements the service `scheduledSounds`. */
	async sounds(): Promise<ReadonlyMap<string, readonly string[]>> {
		await this.#loaded;
		const sounds = new Map<string, string[]>();
		for (const { name, at, on, nextAt, claim, do: action } of this.store.all.values()) {
			const { sound } = action.announcement ?? {};
			if (sound === undefined) continue;
			const titles = sounds.get(sound) ?? [];
			sounds.set(sound, titles);
			if (nextAt !== null || claim || !on) titles.push(name ?? whenText(at));
		}
		return sounds;
	}

	/**
	 * @param request schedule as received
	 * @returns action as stored
	 * @throws {RequestError} 422, or like the route of its action, if it could not be executed now
	 */
	check({ at, do: action }: ScheduleRequest): Action {
		if (Object.keys(at).length !== 1)
			throw new RequestError(
				422,
				'at is one of {"weekly": {"time": "17:50"}}, {"once": "2026-11-28T07:30"} and {"in": 720}.',
			);
		const [[name = "", request] = [], ...others] = Object.entries(action);
		const service = this.#serviceOf(action);
		if (others.length > 0)
			throw new RequestError(422, "do is either announcement or command. Create a schedule for each.");
		if (!service) throw new RequestError(422, `do.${name}: not supported by this gateway.`);
		return requireValid(checkedAction, { [name]: service.check(request) });
	}

	/**
	 * @param by name of a user's token
	 * @throws {RequestError} 409, 422, and 507 or 503 if it cannot be stored
	 */
	async create(request: ScheduleRequest, action: Action, by: string): Promise<Schedule> {
		if (this.store.all.size >= maxSchedules)
			throw new RequestError(409, `${maxSchedules} schedules exist, the maximum. Delete one first.`);
		const id = randomBytes(8).toString("hex");
		const record = this.#make(request, action, by);
		if (await this.store.save(id, record)) return this.#shown(id, this.store.find(id));
		void this.store.drop(id);
		throw this.store.failure("could not be written to", "It was not created");
	}

	/**
	 * Replaces a schedule.
	 * @throws {RequestError} 404, 422, and 507 or 503 if it is in force but not stored yet
	 */
	async change(id: string, request: ScheduleRequest, action: Action, by: string): Promise<Schedule> {
		for (;;) {
			const isWritten = await this.store.save(id, this.#make(request, action, by, this.store.find(id)));
			// Another gateway was first and may have executed it.
			if (this.store.find(id).at !== request.at) continue;
			if (isWritten) return this.#shown(id, this.store.find(id));
			throw this.store.failure("is active, but not yet written to", "Writing is retried every second");
		}
	}

	/**
	 * Replaces an old board's id by the new one in all schedules.
	 * @throws {RequestError} if one is not written
	 */
	replaceDevice(from: string, by: string): Promise<void> {
		return this.#retarget(
			({ devices }) =>
				devices?.includes(from) && {
					devices: [...new Set(devices.map((id) => (id === from ? by : id)))],
				},
		);
	}

	/** @throws {RequestError} if a schedule is not written */
	renameRoom(from: string, to: string): Promise<void> {
		return this.#retarget(({ room }) => room === from && { room: to });
	}

	/** @param change returns new targets, if they change @throws {RequestError} if a schedule is not written */
	async #retarget(change: (targets: Targets) => Targets | false | undefined): Promise<void> {
		for (const id of [...this.store.all.keys()])
			for (;;) {
				const record = this.store.all.get(id);
				const action = record && retargeted(record.do, change);
				if (!record || !action) break;
				const next = { ...record, do: action };
				if (await this.store.save(id, next)) break;
				// Otherwise another gateway was first.
				if (this.store.all.get(id) === next)
					throw this.store.failure("could not be written to", "Writing is retried");
			}
	}

	/**
	 * Moves due times to the gateway's time zone, if it has changed since. A time that has passed is kept, so that it is executed or
	 * counts as missed.
	 */
	async #moveToZone(): Promise<void> {
		const zone = this.#zone;
		const now = this.#core.now();
		for (const [id, record] of [...this.store.all]) {
			const { at, nextAt } = record;
			const due = Date.parse(nextAt ?? "");
			if (!(due > now) || nextTime(at, zone, due - 1) === nextAt) continue;
			const moved = nextTime(at, zone, at.once ? 0 : now);
			if (moved !== null) await this.store.save(id, { ...record, nextAt: moved });
		}
	}

	/** Executes due schedules. */
	tick(): void {
		const now = this.#core.now();
		const offset = now - this.#core.monotonic();
		const isSet = this.#offset === undefined || Math.abs(offset - this.#offset) > setMs;
		let isComplete = true;
		for (const [id, record] of this.store.all) {
			const { nextAt, claim, last, on } = record;
			const dueAt = isSet ? this.#dueAgain(record, now) : this.#dueAt(record);
			if (this.#busy.has(id)) {
				isComplete = false;
				continue;
			}
			if (claim) {
				if (this.#mayTakeOver(claim)) this.#do(id, () => this.#takeOver(id, record, claim));
			} else if (dueAt <= now) {
				if (this.#core.monotonic() >= this.#settledAt) this.#do(id, () => this.#run(id, record, dueAt));
			} else if (nextAt !== null && dueAt !== Date.parse(nextAt))
				this.#do(id, async () => void (await this.store.save(id, { ...record, nextAt: isoTime(dueAt) })));
			else if (last && on && nextAt === null && isDue(Date.parse(last.at) + shownMs, now, shownMs))
				this.#do(id, () => this.store.remove(id));
		}
		// A clock change also applies to busy schedules, in a later tick.
		if (isComplete) this.#offset = offset;
	}

	/** @returns milliseconds since 1970 on the current clock; NaN: never */
	#dueAt(record: StoredSchedule): number {
		const { now, monotonic } = this.#core;
		const { at, nextAt } = record;
		const stored = Date.parse(nextAt ?? "");
		if (at.in === undefined || nextAt === null) return stored;
		// A longer time was stored while the clock was wrong.
		const leftMs = Math.min(stored - now(), at.in * 1000);
		const timer = this.#timers.get(record) ?? monotonic() + leftMs;
		this.#timers.set(record, timer);
		const due = now() + timer - monotonic();
		return Math.abs(due - stored) < setMs ? stored : Math.round(due);
	}

	/** Returns `#dueAt` after a clock change. The clock was set back if two earlier times are still ahead. */
	#dueAgain(record: StoredSchedule, now: number): number {
		const { at } = record;
		const zone = this.#zone;
		const dueAt = this.#dueAt(record);
		const next = at.weekly ? nextTime(at, zone, now) : null;
		const second = next && nextTime(at, zone, Date.parse(next));
		return next && second && Date.parse(second) < dueAt ? Date.parse(next) : dueAt;
	}

	#do(id: string, work: () => Promise<void>): void {
		this.#busy.add(id);
		work()
			.catch((error: unknown) => this.#core.log.error({ schedule: id, err: error }, "schedules"))
			.finally(() => this.#busy.delete(id));
	}

	async #run(id: string, record: StoredSchedule, due: number): Promise<void> {
		const { now, peers } = this.#core;
		const dueAt = isoTime(due);
		const isMissed = now() - due > missedMs;
		const nextAt = nextTime(record.at, this.#zone, isMissed ? now() - missedMs : due);
		if (isMissed) return this.#miss(id, { ...record, nextAt }, dueAt);
		const job = idOf(`${id} ${dueAt}`);
		const claim = { dueAt, job, gateway: peers.id };
		if (await this.#write(id, { ...record, nextAt, claim })) await this.#act(id, record, claim);
	}

	#mayTakeOver(claim: Claim): boolean {
		const now = this.#core.monotonic();
		const since = this.#seen.get(claim) ?? now;
		this.#seen.set(claim, since);
		return now - since >= takeOverMs;
	}

	async #takeOver(id: string, record: StoredSchedule, claim: Claim): Promise<void> {
		const { now, peers, log } = this.#core;
		this.#seen.delete(claim);
		if (now() - Date.parse(claim.dueAt) > missedMs) return this.#miss(id, record, claim.dueAt);
		// Its gateway may still be preparing it and will write the outcome.
		if (await this.#serviceOf(record.do)?.has(claim.job)) return;
		log.warn({ schedule: id, gateway: claim.gateway }, "taking over a schedule");
		const own = { ...claim, gateway: peers.id };
		if (await this.#write(id, { ...record, claim: own })) await this.#act(id, record, own);
	}

	async #miss(id: string, { claim: _, ...record }: StoredSchedule, dueAt: string): Promise<void> {
		const reason = "No gateway could run it within 5 minutes of its due time.";
		const failure = { outcome: "missed", dueAt, reason } as const;
		const last = { ...failure, at: isoTime(this.#core.now()), job: null };
		if (await this.#write(id, { ...record, last })) this.#notify(id, record, failure);
	}

	async #act(id: string, record: StoredSchedule, { dueAt, job }: Claim): Promise<void> {
		const { now: wall, monotonic } = this.#core;
		const dueSince = monotonic() - (wall() - Date.parse(dueAt));
		const reason = await this.#begin(record, job);
		if (this.#isClosed) return;
		const now = wall();
		const isLate = monotonic() - dueSince > takeOverMs;
		const why = cutText(reason ?? "", maxReasonLength);
		const failure = reason !== null && ({ outcome: "failed", dueAt, reason: why } as const);
		const done = { outcome: isLate ? "late" : "done", dueAt, reason: null, job } as const;
		const last = { at: isoTime(now), ...(failure ? { ...failure, job: null } : done) };
		// Added to a concurrent change by a user too.
		for (let stored = this.store.all.get(id); stored?.claim?.job === job; stored = this.store.all.get(id)) {
			const { claim: _, ...rest } = stored;
			await this.#write(id, { ...rest, last });
		}
		this.#core.log.info({ schedule: id, job, outcome: last.outcome }, "schedule");
		if (failure) this.#notify(id, record, failure);
	}

	/** @returns reason why it was not executed, or null */
	async #begin({ do: action, by }: StoredSchedule, id: string): Promise<string | null> {
		const service = this.#serviceOf(action);
		if (!service) return "This gateway does not support its action.";
		const request = action.announcement ?? action.command;
		try {
			return await new Promise((onSent, onError) => {
				service.begin(request, { id, by, onSent }).catch(onError);
			});
		} catch (error) {
			if (error instanceof RequestError) return error.message;
			this.#core.log.error({ job: id, err: error }, "executing a schedule failed");
			return "Starting it failed. See the gateway's log.";
		}
	}

	#serviceOf(action: object): JobService | undefined {
		const { announcementJobs, commandJobs } = this.#core.services;
		return "announcement" in action ? announcementJobs : commandJobs;
	}

	/**
	 * @returns whether no other gateway has written first. Outside of a cluster execution continues on a full
	 * disk; in a cluster, another gateway may have been able to write.
	 */
	async #write(id: string, record: StoredSchedule): Promise<boolean> {
		const isWritten = await this.store.save(id, record);
		const current = this.store.all.get(id);
		const isOwn = current?.claim === record.claim && current?.last === record.last;
		return isOwn && (isWritten || !this.#core.peers.bus);
	}

	#make(
		{ name, at, on = true }: ScheduleRequest,
		action: Action,
		by: string,
		previous?: StoredSchedule,
	): StoredSchedule {
		const now = this.#core.now();
		const zone = this.#zone;
		const { createdAt = isoTime(now), claim, last = null } = previous ?? {};
		// A schedule that is due right now stays due.
		const isSame = previous?.on && isDeepStrictEqual(previous.at, at);
		const next = at.in === undefined ? nextTime(at, zone, now) : isoTime(now + at.in * 1000);
		const nextAt = isSame && at.in === undefined ? previous.nextAt : next;
		if (on && nextAt === null)
			throw new RequestError(
				422,
				`at.once: ${at.once} is in the past or nonexistent in ${zone}. Choose a later time.`,
			);
		const rest = { ...(name && { name }), ...(claim && { claim }) };
		return { at, do: action, on, by, createdAt, nextAt: on ? nextAt : null, last, ...rest };
	}

	#shown(id: string, { claim: _, ...record }: StoredSchedule): Schedule {
		return { id, ...record, zone: this.#zone };
	}

	#notify(id: string, { name = "" }: StoredSchedule, failure: Failure): void {
		this.#core.log.warn({ schedule: id, name, ...failure }, "schedule");
		this.#core.events.emit("scheduleFailed", { id, name: name || null, ...failure });
	}
}

/** @returns undefined if the targets stay */
function retargeted(
	{ announcement, command }: Action,
	change: (targets: Targets) => Targets | false | undefined,
): Action | undefined {
	const targets = change((announcement ?? command)?.targets ?? {});
	if (!targets) return undefined;
	if (announcement) return { announcement: { ...announcement, targets } };
	return command && { command: { ...command, targets } };
}
