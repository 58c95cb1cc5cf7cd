/** Schedules on clocks that tests advance, with jobs that are recorded instead of executed. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Schedule, ScheduleRequest } from "../../../gateway/api/schedule.js";
import { type BaseOptions, createBase } from "../../../gateway/base.js";
import { Events, type ScheduleFailure } from "../../../gateway/events.js";
import { Schedules } from "../../../gateway/schedules/schedules.js";
import type { JobService, StartOptions } from "../../../gateway/services/jobs.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { onEnd, temporaryDirectory } from "../../support/cleanup.js";
import { waitUntil } from "../../support/eventually.js";

export const berlin = "Europe/Berlin";

export class Clock {
	#wall: number;
	#monotonic = 0;

	/** @param time in UTC, such as `2026-11-27T16:49:00Z` */
	constructor(time: string) {
		this.#wall = Date.parse(time);
	}

	readonly now = () => this.#wall;
	readonly monotonic = () => this.#monotonic;

	pass(ms: number): void {
		this.#wall += ms;
		this.#monotonic += ms;
	}

	/** Advances to this time. */
	passTo(time: string): void {
		this.pass(Date.parse(time) - this.#wall);
	}

	/** Sets the wall clock, as a time server does. */
	set(time: string): void {
		this.#wall = Date.parse(time);
	}
}

class Jobs implements JobService {
	readonly begun: { readonly id: string; readonly body: unknown; readonly by: string | null }[] = [];
	/** Result of sending a job's commands. */
	send = async (): Promise<string | null> => null;
	isKnown = false;
	/** Number of calls of `has`. */
	asked = 0;

	check(body: unknown): object {
		return Object(body);
	}

	async begin(body: unknown, { id = "", by, onSent }: StartOptions): Promise<string> {
		this.begun.push({ id, body, by });
		onSent?.(await this.send());
		return id;
	}

	async has(): Promise<boolean> {
		this.asked += 1;
		return this.isKnown;
	}
}

export interface RunOptions extends Pick<BaseOptions, "disk" | "log" | "peers" | "records" | "storage"> {
	readonly dataDir?: string;
	readonly zone?: string;
}

export async function runSchedules(t: TestContext, at: string | Clock, options: RunOptions = {}) {
	const { zone = berlin, dataDir = await temporaryDirectory(t), ...more } = options;
	const clock = typeof at === "string" ? new Clock(at) : at;
	const { now, monotonic } = clock;
	const base = createBase({ log: createLog("silent"), ...more, dataDir, now, monotonic });
	const jobs = new Jobs();
	const events = new Events();
	const told: ScheduleFailure[] = [];
	events.on({ scheduleFailed: (failure) => told.push(failure) });
	const schedules = new Schedules({ ...base, events, services: { commandJobs: jobs } }, zone);
	await schedules.open();
	const close = () => {
		schedules.close();
		return base.closeRecords();
	};
	onEnd(t, close);
	const find = (id: string) => schedules.list().find((schedule) => schedule.id === id);
	/** Ticks until the condition is true. */
	const until = (condition: () => unknown) =>
		waitUntil(condition, () => {
			schedules.tick();
			return new Promise((resolve) => setImmediate(resolve));
		});
	return {
		schedules,
		close,
		clock,
		jobs,
		told,
		dataDir,
		until,
		find,
		async make(request: ScheduleRequest): Promise<string> {
			return (await schedules.create(request, schedules.check(request), "anna")).id;
		},
		/** Passes the time in which devices reconnect after a start. */
		settle: () => clock.pass(10_000),
		/** Resolves once its latest run, or that due at a time, has an outcome. */
		async ended(id: string, dueAt?: string): Promise<Schedule> {
			await until(() => {
				const last = find(id)?.last;
				return last && (dueAt ?? last.dueAt) === last.dueAt;
			});
			return find(id) ?? assert.fail(`there is no schedule ${id}`);
		},
	};
}
