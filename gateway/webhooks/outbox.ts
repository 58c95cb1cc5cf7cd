/**
 * Events that webhooks have not taken yet, kept until they have answered. Each subject (a device, a roll-out) of a hook is a
 * record, so that of several gateways one adds an event, and one makes each attempt.
 */

import { createHmac, randomUUID } from "node:crypto";
import { type Infer, integer, list, matches, object, string } from "../../device/protocol/schema.js";
import type { WebhookAttempt } from "../api/webhook.js";
import type { Core } from "../extension.js";
import { parseJson } from "../json.js";
import { errorCode } from "../problem.js";
import { isoTime } from "../sessions/view.js";
import type { Records } from "../storage/records.js";
import { time } from "../storage/time.js";
import type { EventName, Hook } from "./hooks.js";

const minuteMs = 60_000;
/** From an attempt to the next one; after the last one the event is dropped. */
const pausesMs = [1, 4, 15, 40, 0].map((minutes) => minutes * minuteMs);
const answerMs = 5_000;
/** Of one subject; the oldest are dropped. */
const waitingAtMost = 50;

const delivery = object({
	id: string(36),
	/** As it is sent and signed. */
	body: string(16_384),
	attempts: integer(0, pausesMs.length),
	/** Of the latest attempt: of two gateways that begin one in the same moment, one has written its own. */
	attempt: string(36),
	dueAt: time,
});
const kept = object({
	/** The subject's state after its latest event; empty: nothing that later events depend on. */
	mark: string(64),
	/** The first one is delivered before the others. */
	waiting: list(delivery, waitingAtMost),
});
type Kept = Infer<typeof kept>;
const nothing: Kept = Object.freeze({ mark: "", waiting: [] });

/** What has happened, in the fields of the body. `text` is one sentence for people. */
export interface Happening {
	readonly event: EventName | "test";
	readonly text: string;
	readonly [name: string]: unknown;
}

export class Outbox {
	/** Of the latest attempt since the start. */
	latest: WebhookAttempt | undefined;
	readonly hook: Hook;
	readonly #core: Pick<Core, "now" | "log" | "settings">;
	readonly #records: Records<Kept>;
	/** By subject. */
	readonly #kept = new Map<string, Kept>();
	readonly #attempts = new Set<AbortController>();
	#isClosed = false;
	#changesElsewhere = 0;
	#delivering: Promise<void> | undefined;

	constructor(hook: Hook, core: Pick<Core, "now" | "log" | "settings" | "records">) {
		this.hook = hook;
		this.#core = core;
		this.#records = core.records<Kept>({
			name: `webhook-${hook.id}`,
			what: "events for a webhook",
			isKey: (key) => /^[\w.-]+$/.test(key),
			format: (each) => JSON.stringify(each),
			parse: (text) => {
				const value = parseJson(text);
				return matches(kept, value) ? value : undefined;
			},
			onProblem: (problem) => core.log.warn({ problem }, "webhooks"),
			onRecord: (subject, record) => {
				this.#changesElsewhere += 1;
				this.#put(subject, record ?? nothing);
			},
		});
	}

	/** @throws {Error} if its records cannot be had */
	async open(): Promise<void> {
		await this.#records.each((subject, record) => this.#put(subject, record));
	}

	/** Ends a running attempt; the event is delivered after the next start. */
	async close(): Promise<void> {
		this.#isClosed = true;
		for (const attempt of this.#attempts) attempt.abort();
		await this.#delivering;
		await this.#records.close();
	}

	/** Number of events that are not delivered yet. */
	get waiting(): number {
		return [...this.#kept.values()].reduce((sum, { waiting }) => sum + waiting.length, 0);
	}

	/** The subject's state after its latest event. */
	markOf(subject: string): string {
		return this.#kept.get(subject)?.mark ?? "";
	}

	/**
	 * Keeps an event until it is delivered, if the hook wants it.
	 * @param turn the subject's next mark from its present one; undefined: it was added before
	 */
	add(subject: string, happening: Happening, turn: (mark: string) => string | undefined): void {
		const isWanted = this.hook.events.some((name) => name === happening.event);
		const id = randomUUID();
		const added = {
			id,
			body: this.#bodyOf(id, happening),
			attempts: 0,
			attempt: "",
			dueAt: this.#core.now(),
		};
		let isTooMuch = false;
		const next = ({ mark, waiting }: Kept) => {
			const turned = turn(mark);
			if (turned === undefined || waiting.some((each) => each.id === id)) return undefined;
			if (!isWanted) return { mark: turned, waiting };
			isTooMuch = waiting.length >= waitingAtMost;
			return { mark: turned, waiting: [...waiting, added].slice(-waitingAtMost) };
		};
		void this.#change(subject, next).then(() => {
			if (isTooMuch)
				this.#core.log.warn(
					{ hook: this.hook.id, subject },
					"webhook: its oldest event of a subject was dropped",
				);
			this.deliver();
		});
	}

	/** Removes a subject's mark. */
	forget(subject: string): void {
		void this.#change(subject, ({ mark, waiting }) => (mark === "" ? undefined : { mark: "", waiting }));
	}

	/** Sends an event that is not kept. */
	test(): Promise<WebhookAttempt> {
		const id = randomUUID();
		return this.#post(this.#bodyOf(id, { event: "test", text: "This is a test of the webhook." }));
	}

	/** Delivers what is due, one after the other: only this hook waits for a slow receiver. */
	deliver(): void {
		this.#delivering ??= this.#deliverDue()
			.catch((error) => this.#core.log.error({ err: error }, "webhooks: delivery failed"))
			.finally(() => {
				this.#delivering = undefined;
			});
	}

	async #deliverDue(): Promise<void> {
		for (const subject of this.#kept.keys()) while (await this.#attempt(subject));
	}

	/** @returns whether it has ended with the first of the subject */
	async #attempt(subject: string): Promise<boolean> {
		const { log, now } = this.#core;
		// Kept as the next attempt before it is made: if this process ends, or another gateway looks, it is made once.
		const claimed = await this.#change(subject, ({ mark, waiting: [first, ...others] }) => {
			if (!first || first.dueAt > now() || this.#isClosed) return undefined;
			const { attempts } = first;
			const dueAt = now() + (pausesMs[attempts] ?? 0);
			return {
				mark,
				waiting: [{ ...first, attempts: attempts + 1, attempt: randomUUID(), dueAt }, ...others],
			};
		});
		const first = claimed?.waiting[0];
		if (!first) return false;
		this.latest = await this.#post(first.body);
		const { status, problem } = this.latest;
		const isDelivered = status !== null && status >= 200 && status < 300;
		if (this.#isClosed && !isDelivered) return false;
		const isLast = first.attempts >= pausesMs.length;
		if (!isDelivered) log.warn({ hook: this.hook.id, status, problem, isLast }, "webhook not delivered");
		if (!isDelivered && !isLast) return false;
		await this.#change(subject, ({ mark, waiting }) => ({
			mark,
			waiting: waiting.filter(({ id }) => id !== first.id),
		}));
		return true;
	}

	async #post(body: string): Promise<WebhookAttempt> {
		const { url, secret } = this.hook;
		const signature = createHmac("sha256", secret).update(body).digest("hex");
		const at = isoTime(this.#core.now());
		// AbortSignal.any with AbortSignal.timeout may be collected as garbage in Node 20 before it fires.
		const attempt = new AbortController();
		this.#attempts.add(attempt);
		const tooLate = new Error(`no answer within ${answerMs / 1000} s`);
		const timer = setTimeout(() => attempt.abort(tooLate), answerMs);
		try {
			const { status, body: answer } = await fetch(url, {
				method: "POST",
				headers: { "Content-Type": "application/json", "X-Signature-256": `sha256=${signature}` },
				body,
				redirect: "manual",
				signal: attempt.signal,
			});
			await answer?.cancel();
			return { at, status, problem: null };
		} catch (error) {
			return { at, status: null, problem: describe(error) };
		} finally {
			clearTimeout(timer);
			this.#attempts.delete(attempt);
		}
	}

	#bodyOf(id: string, happening: Happening): string {
		const { gatewayName: gateway } = this.#core.settings;
		return JSON.stringify({ id, time: isoTime(this.#core.now()), ...(gateway && { gateway }), ...happening });
	}

	/** @returns what is kept now; undefined if `next` changes nothing */
	async #change(subject: string, next: (present: Kept) => Kept | undefined): Promise<Kept | undefined> {
		for (;;) {
			const changes = this.#changesElsewhere;
			const changed = next(this.#kept.get(subject) ?? nothing);
			if (!changed) return undefined;
			this.#put(subject, changed);
			const isWritten = isEmpty(changed)
				? await this.#records.remove(subject)
				: await this.#records.save(subject, changed);
			// Of what cannot be written the memory counts, unless another gateway has written first.
			const isLate = !isWritten && changes !== this.#changesElsewhere;
			if (!isLate || this.#kept.get(subject) === changed) return changed;
		}
	}

	#put(subject: string, record: Kept): void {
		if (isEmpty(record)) this.#kept.delete(subject);
		else this.#kept.set(subject, record);
	}
}

function isEmpty({ mark, waiting }: Kept): boolean {
	return mark === "" && waiting.length === 0;
}

function describe(error: unknown): string {
	if (!(error instanceof Error)) return String(error);
	return errorCode(error.cause) ?? error.message;
}
