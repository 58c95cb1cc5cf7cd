/**
 * Schedules: at its due time each is claimed in its record, then acted on, and what happened is written. Of gateways that act as one
 * all try, and the one whose claim is written acts. A claim without an outcome is taken over, as its gateway may have ended.
 */

import { createHash, randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
	boolean,
	changeOf,
	either,
	type Infer,
	object,
	oneOf,
	optional,
	string,
} from "../../device/protocol/schema.js";
import { askedAnnouncement } from "../api/announcement.js";
import { asks } from "../api/command.js";
import {
	type AskedSchedule,
	askedSchedule,
	type Schedule,
	scheduleOutcomes,
	schedulesAtMost,
} from "../api/schedule.js";
import { targets } from "../api/targets.js";
import type { Core, JobService } from "../extension.js";
import { requireValid } from "../http/request-body.js";
import { HttpProblem } from "../problem.js";
import { isoTime } from "../sessions/view.js";
import { time } from "../storage/time.js";
import { Store } from "./store.js";
import { nextTime } from "./times.js";

/** What is due longer ago is left out. */
const missedMs = 5 * 60_000;
/** One that has ended stays this long. */
const shownMs = 24 * 60 * 60_000;
const tickMs = 250;

export const scheduleLimits = Object.freeze({
	/** What was due before a start waits until devices have come back. */
	scheduleSettleMs: 10_000,
	/** Without an outcome a claim is taken over; what is done later than this is late. */
	scheduleTakeOverMs: 15_000,
});

/** As it was checked: it needs nothing else to be begun. */
const checkedAction = changeOf({
	announcement: optional(askedAnnouncement),
	command: optional(object({ targets, payload: either(...Object.values(asks)) })),
});
type Action = Infer<typeof checkedAction>;

const claim = object({ dueAt: time, job: string(16), gateway: string(36) });
type Claim = Infer<typeof claim>;

/** Times in milliseconds since 1970. */
const kept = object({
	name: askedSchedule.fields.name,
	at: askedSchedule.fields.at,
	do: checkedAction,
	on: boolean(),
	zone: string(64),
	by: string(64),
	createdAt: time,
	/** Absent: it is not due again. */
	dueAt: optional(time),
	/** Being acted on. */
	claim: optional(claim),
	last: optional(
		object({
			dueAt: time,
			at: time,
			outcome: oneOf(...scheduleOutcomes),
			reason: optional(string(1300)),
			job: optional(claim.fields.job),
		}),
	),
});
type Kept = Infer<typeof kept>;
type Last = NonNullable<Kept["last"]>;
interface Failure extends Pick<Last, "dueAt" | "at"> {
	readonly outcome: "missed" | "failed";
	/** One sentence. */
	readonly reason: string;
}

export type SchedulesCore = Pick<
	Core,
	"now" | "monotonic" | "log" | "limits" | "records" | "peers" | "storage" | "services" | "emit"
>;

export class Schedules {
	readonly #core: SchedulesCore;
	readonly #limits: typeof scheduleLimits;
	readonly #zone: string;
	readonly #store: Store<typeof kept>;
	/** When a claim of another gateway, or of an earlier run, was first seen, on the monotonic clock: wall clocks may differ. */
	readonly #seen = new WeakMap<Claim, number>();
	/** Ids of schedules that this gateway writes or acts on now. */
	readonly #busy = new Set<string>();
	#isClosed = false;
	#settledAt = Number.POSITIVE_INFINITY;
	#timer: NodeJS.Timeout | undefined;

	/** @param zone IANA name, of schedules that are made here */
	constructor(core: SchedulesCore, zone: string) {
		this.#core = core;
		this.#limits = { ...scheduleLimits, ...core.limits };
		this.#zone = zone;
		const check = ({ at, zone }: Kept) => void nextTime(at, zone, 0);
		this.#store = new Store({ core, name: "schedules", noun: "schedule", schema: kept, check });
	}

	get readinessProblem(): string | undefined {
		return this.#store.readinessProblem;
	}

	/** @throws {Error} if its records cannot be had */
	async open(): Promise<void> {
		await this.#store.open();
		this.#settledAt = this.#core.monotonic() + this.#limits.scheduleSettleMs;
		this.#timer = setInterval(() => this.tick(), tickMs).unref();
	}

	/** What is still being prepared is done after the next start, or by another gateway. */
	async close(): Promise<void> {
		this.#isClosed = true;
		clearInterval(this.#timer);
		await this.#store.close();
	}

	/** The next due first; those that have ended come last, the latest first. */
	list(): readonly Schedule[] {
		const order = (a: Kept, b: Kept) =>
			(a.dueAt ?? Number.POSITIVE_INFINITY) - (b.dueAt ?? Number.POSITIVE_INFINITY) ||
			b.createdAt - a.createdAt;
		return [...this.#store.all]
			.sort(([, a], [, b]) => order(a, b))
			.map(([id, record]) => describe(id, record));
	}

	/** @throws {HttpProblem} 404 */
	find(id: string): Schedule {
		return describe(id, this.#store.find(id));
	}

	/**
	 * @param asked as read @returns the action as it is kept
	 * @throws {HttpProblem} 422, or as the route of its action, if it could not be done now
	 */
	check({ at, do: action }: AskedSchedule): Action {
		if (Object.keys(at).length !== 1)
			throw new HttpProblem(
				422,
				'at is one of {"weekly": {"time": "17:50"}}, {"once": "2026-11-28T07:30"} and {"in": 720}.',
			);
		const [[name = "", asked] = [], ...others] = Object.entries(action);
		const service = this.#serviceOf(action);
		if (others.length > 0)
			throw new HttpProblem(422, "do is one of announcement and command; make a schedule for each.");
		if (!service) throw new HttpProblem(422, `do.${name}: this gateway was built without it.`);
		return requireValid(checkedAction, { [name]: service.check(asked) });
	}

	/** @param by the name of a person's token @throws {HttpProblem} 409, 422, and 507 or 503 if it cannot be stored */
	async create(asked: AskedSchedule, action: Action, by: string): Promise<Schedule> {
		if (this.#store.all.size >= schedulesAtMost)
			throw new HttpProblem(409, `There are ${schedulesAtMost} schedules; delete one first.`);
		const id = randomBytes(8).toString("hex");
		const record = this.#make(asked, action, by);
		if (await this.#store.save(id, record)) return this.find(id);
		void this.#store.drop(id);
		throw this.#store.failure("could not be written to", "it was not made");
	}

	/** @throws {HttpProblem} 404, 422, and 507 or 503 if it cannot be stored yet: then it is in force all the same */
	async change(id: string, asked: AskedSchedule, action: Action, by: string): Promise<Schedule> {
		for (;;) {
			const isWritten = await this.#store.save(id, this.#make(asked, action, by, this.#store.find(id)));
			// Another gateway was first: perhaps it has acted on it.
			if (this.#store.find(id).at !== asked.at) continue;
			if (isWritten) return this.find(id);
			throw this.#store.failure("is in force, but not yet written to", "that is tried again every second");
		}
	}

	/** @throws {HttpProblem} 404, and 507 or 503 if it cannot be removed */
	remove(id: string): Promise<void> {
		return this.#store.remove(id);
	}

	/** Acts on what is due. */
	tick(): void {
		const now = this.#core.now();
		for (const [id, record] of this.#store.all) {
			const { dueAt, claim, last } = record;
			if (this.#busy.has(id)) continue;
			if (claim) {
				if (this.#mayTakeOver(claim)) this.#do(id, () => this.#takeOver(id, record, claim));
			} else if (dueAt !== undefined && dueAt <= now) {
				const isSettled = this.#core.monotonic() >= this.#settledAt || dueAt > now - tickMs * 4;
				if (isSettled) this.#do(id, () => this.#run(id, record, dueAt));
			} else if (last && record.on && dueAt === undefined && last.at < now - shownMs)
				this.#do(id, () => this.remove(id));
		}
	}

	#do(id: string, work: () => Promise<void>): void {
		this.#busy.add(id);
		work()
			.catch((error: unknown) => this.#core.log.error({ schedule: id, err: error }, "schedules"))
			.finally(() => this.#busy.delete(id));
	}

	async #run(id: string, record: Kept, dueAt: number): Promise<void> {
		const { now, peers } = this.#core;
		const isMissed = now() - dueAt > missedMs;
		const next = nextTime(record.at, record.zone, isMissed ? now() - missedMs : dueAt);
		const { dueAt: _, ...rest } = record;
		const following = { ...rest, ...(next !== undefined && { dueAt: next }) };
		if (isMissed) return this.#miss(id, following, dueAt);
		const job = createHash("sha256").update(`${id} ${dueAt}`).digest("hex").slice(0, 16);
		const claim = { dueAt, job, gateway: peers.id };
		if (await this.#write(id, { ...following, claim })) await this.#act(id, record, claim);
	}

	#mayTakeOver(claim: Claim): boolean {
		const now = this.#core.monotonic();
		const since = this.#seen.get(claim) ?? now;
		this.#seen.set(claim, since);
		return now - since >= this.#limits.scheduleTakeOverMs;
	}

	async #takeOver(id: string, record: Kept, claim: Claim): Promise<void> {
		const { now, peers, log } = this.#core;
		this.#seen.delete(claim);
		if (now() - claim.dueAt > missedMs) return this.#miss(id, record, claim.dueAt);
		// Its gateway may still prepare it, and then writes what happened.
		if (await this.#serviceOf(record.do)?.has(claim.job)) return;
		log.warn({ schedule: id, gateway: claim.gateway }, "a schedule is taken over");
		const own = { ...claim, gateway: peers.id };
		if (await this.#write(id, { ...record, claim: own })) await this.#act(id, record, own);
	}

	async #miss(id: string, { claim: _, ...record }: Kept, dueAt: number): Promise<void> {
		const reason = "It could not be done within 5 minutes of its time.";
		const last = { dueAt, at: this.#core.now(), outcome: "missed", reason } as const;
		if (await this.#write(id, { ...record, last })) this.#tell(id, record, last);
	}

	async #act(id: string, record: Kept, { dueAt, job }: Claim): Promise<void> {
		const reason = await this.#begin(record, job);
		if (this.#isClosed) return;
		const at = this.#core.now();
		const outcome = at - dueAt > this.#limits.scheduleTakeOverMs ? "late" : "done";
		const failure = reason === null ? undefined : ({ dueAt, at, outcome: "failed", reason } as const);
		const last = failure ?? { dueAt, at, outcome, job };
		// A person may change it at the same moment: the outcome is added to that too.
		for (let each = this.#store.all.get(id); each?.claim?.job === job; each = this.#store.all.get(id)) {
			const { claim: _, ...rest } = each;
			await this.#write(id, { ...rest, last });
		}
		this.#core.log.info({ schedule: id, job, outcome: last.outcome }, "schedule");
		if (failure) this.#tell(id, record, failure);
	}

	/** @returns why its devices are not asked; null: they are */
	async #begin({ do: action, by }: Kept, id: string): Promise<string | null> {
		const service = this.#serviceOf(action);
		if (!service) return "This gateway was built without what it does.";
		const asked = action.announcement ?? action.command;
		try {
			return await new Promise((onAsked, onError) => {
				service.begin(asked, { id, by, onAsked }).catch(onError);
			});
		} catch (error) {
			if (error instanceof HttpProblem) return error.message;
			this.#core.log.error({ job: id, err: error }, "a schedule could not be acted on");
			return "It could not be begun; the gateway's log says why.";
		}
	}

	#serviceOf(action: object): JobService | undefined {
		const { announcements, commands } = this.#core.services();
		return "announcement" in action ? announcements : commands;
	}

	/**
	 * @returns whether no other gateway has written it first. A gateway that is alone goes on with a full disk; of several, one that
	 * could not write may not be the only one.
	 */
	async #write(id: string, record: Kept): Promise<boolean> {
		const isWritten = await this.#store.save(id, record);
		const current = this.#store.all.get(id);
		const isOwn = current?.claim === record.claim && current?.last === record.last;
		return isOwn && (isWritten || !this.#core.peers.bus);
	}

	#make({ name, at, on = true }: AskedSchedule, action: Action, by: string, previous?: Kept): Kept {
		const now = this.#core.now();
		const { createdAt = now, claim, last } = previous ?? {};
		// One that is due at this moment stays so.
		const isSame =
			previous?.on &&
			previous.zone === this.#zone &&
			at.in === undefined &&
			isDeepStrictEqual(previous.at, at);
		const next = at.in === undefined ? nextTime(at, this.#zone, now) : now + at.in * 1000;
		const dueAt = isSame ? previous.dueAt : next;
		if (on && dueAt === undefined)
			throw new HttpProblem(
				422,
				`at.once: ${at.once} is over in ${this.#zone}, or no such day; choose a later time.`,
			);
		const due = {
			...(on && dueAt !== undefined && { dueAt }),
			...(claim && { claim }),
			...(last && { last }),
		};
		return { ...(name && { name }), at, do: action, on, zone: this.#zone, by, createdAt, ...due };
	}

	#tell(id: string, { name }: Pick<Kept, "name">, { outcome, reason, ...last }: Failure): void {
		const { log, emit } = this.#core;
		const dueAt = isoTime(last.dueAt);
		log.warn({ schedule: id, name, outcome, dueAt, reason }, "schedule");
		emit({ type: "schedule_failed", id, name: name ?? null, outcome, dueAt, reason });
	}
}

function describe(id: string, record: Kept): Schedule {
	const { dueAt, claim: _, last, createdAt, ...rest } = record;
	return {
		id,
		...rest,
		createdAt: isoTime(createdAt),
		nextAt: dueAt === undefined ? null : isoTime(dueAt),
		last: last
			? { reason: null, job: null, ...last, dueAt: isoTime(last.dueAt), at: isoTime(last.at) }
			: null,
	};
}
