/**
 * Undelivered events of a webhook, each a persistent record, and marks of events that are sent once. In a
 * cluster, the gateway that writes a record first sends the event or makes the attempt.
 */

import { randomUUID } from "node:crypto";
import { type Infer, integer, object, string } from "../../device/protocol/schema.js";
import { isDue, time } from "../api/time.js";
import type { WebhookAttempt, WebhookEventName } from "../api/webhook.js";
import type { Core } from "../extension.js";
import { errorCode } from "../problem.js";
import { isoTime } from "../sessions/view.js";
import { Queue } from "../storage/queue.js";
import { jsonRecord, type Records } from "../storage/records.js";
import type { Hook } from "./hooks.js";
import { signedHeaders } from "./signature.js";

/** Minutes between attempts. After the last one the event is dropped. */
const pauses = [1, 4, 15, 40, 0];
const minuteMs = 60_000;
const longestPauseMs = Math.max(...pauses) * minuteMs;
export const webhookLimits = Object.freeze({
	/** Timeout for a receiver's response. */
	webhookAnswerMs: 5_000,
});
export const endedReason =
	"Its receiver responded with 410, so delivery stopped. Remove it from WEBHOOKS_FILE or fix the receiver, then restart the gateway.";
/** Limit of queued events per subject. The oldest are dropped. */
const maxWaiting = 50;

const delivery = object({
	/** Device or rollout, whose events are delivered in order. */
	subject: string(80),
	/** Body as sent and signed; empty: a mark. */
	body: string(16_384),
	attempts: integer(0, pauses.length),
	dueAt: time,
	/** Id of the gateway that wrote the record. */
	by: string(36),
});
type Delivery = Infer<typeof delivery>;

/** Event with the fields of the body. `text` is a sentence for users. */
export interface WebhookEvent {
	readonly event: WebhookEventName | "test";
	readonly text: string;
	readonly [name: string]: unknown;
}

export class Outbox {
	/** Latest attempt since the start. */
	latest: WebhookAttempt | undefined;
	/** Whether the receiver responded with 410, which stops delivery by this gateway until the next start. */
	hasEnded = false;
	readonly hook: Hook;
	readonly #core: Pick<Core, "now" | "log" | "settings" | "events">;
	readonly #limits: typeof webhookLimits;
	readonly #by: string;
	readonly #records: Records<Delivery>;
	readonly #deliveries = new Map<string, Delivery>();
	/** Number in the newest event key. Events are delivered in the order of their keys. */
	#newest = 0;
	#isClosed = false;
	#isDelivering = false;
	readonly #adding = new Queue();

	constructor(
		hook: Hook,
		core: Pick<Core, "now" | "log" | "limits" | "settings" | "events" | "records" | "peers">,
	) {
		this.hook = hook;
		this.#core = core;
		this.#limits = { ...webhookLimits, ...core.limits };
		this.#by = core.peers.id;
		this.#records = core.records<Delivery>({
			name: `webhook-${hook.id}`,
			what: "events for a webhook",
			isKey: (key) => /^[\w.-]+$/.test(key),
			...jsonRecord(delivery),
			onRecord: (key, record) => {
				if (record) this.#restore(key, record);
				else this.#deliveries.delete(key);
			},
		});
	}

	/** @throws {Error} if its records are unavailable */
	async open(): Promise<void> {
		await this.#records.each((key, record) => this.#restore(key, record));
	}

	/** Stops. Undelivered events are sent after the next start. */
	close(): void {
		this.#isClosed = true;
	}

	/** Number of undelivered events. */
	get waiting(): number {
		return this.#undelivered().length;
	}

	has(mark: string): boolean {
		return this.#deliveries.has(mark);
	}

	/** @returns whether the mark existed */
	removeMark(mark: string): boolean {
		const exists = this.#deliveries.delete(mark);
		if (exists) void this.#records.remove(mark);
		return exists;
	}

	/** Removes marks consisting of the prefix and a number. */
	removeMarks(prefix: string): void {
		for (const key of this.#deliveries.keys())
			if (key.startsWith(prefix) && /^\d+$/.test(key.slice(prefix.length))) this.removeMark(key);
	}

	/**
	 * Queues an event if the hook subscribes to it, after the events added before.
	 * @param mark stored with it, so that the event is sent only once
	 */
	add(subject: string, event: WebhookEvent, mark?: string): Promise<void> {
		return this.#adding.add(() => this.#add(subject, event, mark));
	}

	async #add(subject: string, event: WebhookEvent, mark: string | undefined): Promise<void> {
		const { log, now } = this.#core;
		this.#newest = Math.max(now(), this.#newest + 1);
		const id = randomUUID();
		const key = `${this.#newest}-${id}`;
		const none = { subject, body: "", attempts: 0, dueAt: now(), by: this.#by };
		// A mark that was removed meanwhile, such as of a device that is back, is no other gateway's.
		if (mark !== undefined && (this.has(mark) || (!(await this.#write(mark, none)) && this.has(mark))))
			return;
		if (!this.hook.events.some((name) => name === event.event)) return;
		const [oldest, ...others] = this.#undelivered().filter(([, waiting]) => waiting.subject === subject);
		if (oldest && others.length + 1 >= maxWaiting) {
			log.warn({ hook: this.hook.id, subject }, "webhook: oldest event of a subject dropped");
			void this.#remove(oldest[0]);
		}
		await this.#write(key, { ...none, body: this.#bodyOf(id, event) });
		this.deliver();
	}

	/** Sends a test event, which is not queued. */
	test(): Promise<WebhookAttempt> {
		const id = randomUUID();
		return this.#post(id, this.#bodyOf(id, { event: "test", text: "This is a test of the webhook." }));
	}

	/** Delivers due events sequentially, so that a slow receiver delays only its own events. */
	deliver(): void {
		if (this.#isDelivering) return;
		this.#isDelivering = true;
		this.#deliverDue()
			.catch((error: unknown) => this.#core.log.error({ err: error }, "webhooks"))
			.finally(() => {
				this.#isDelivering = false;
			});
	}

	async #deliverDue(): Promise<void> {
		/** Subjects whose first event is undelivered. */
		const blocked = new Set<string>();
		for (const [key, { subject }] of this.#undelivered())
			if (this.hasEnded) await this.#remove(key);
			else if (!blocked.has(subject) && !(await this.#attempt(key))) blocked.add(subject);
	}

	/** @returns whether it was the last attempt */
	async #attempt(key: string): Promise<boolean> {
		const { log, now } = this.#core;
		const record = this.#deliveries.get(key);
		const mayTry = record && isDue(record.dueAt, now(), longestPauseMs) && !this.#isClosed;
		if (!mayTry) return record === undefined;
		const attempts = record.attempts + 1;
		const dueAt = now() + (pauses[record.attempts] ?? 0) * minuteMs;
		// Written before the attempt, so that it is made once even if this process or another gateway intervenes.
		if (!(await this.#write(key, { ...record, attempts, dueAt, by: this.#by }))) return false;
		this.latest = await this.#post(key.slice(key.indexOf("-") + 1), record.body);
		const { status, problem } = this.latest;
		const isDelivered = status !== null && status >= 200 && status < 300;
		const isLast = isDelivered || attempts === pauses.length || this.hasEnded;
		if (!isDelivered) log.warn({ hook: this.hook.id, status, problem, isLast }, "webhook not delivered");
		if (isLast) await this.#remove(key);
		return isLast;
	}

	async #post(id: string, body: string): Promise<WebhookAttempt> {
		const { url, secrets } = this.hook;
		const { webhookAnswerMs: answerMs } = this.#limits;
		const now = this.#core.now();
		const at = isoTime(now);
		try {
			const { status, body: answer } = await fetch(url, {
				method: "POST",
				// Uses a new connection, as the receiver may close a reused one during an attempt.
				headers: {
					Connection: "close",
					"Content-Type": "application/json",
					...signedHeaders(secrets, id, now, body),
				},
				body,
				redirect: "manual",
				signal: AbortSignal.timeout(answerMs),
			});
			await answer?.cancel();
			if (status === 410) this.#end();
			return { at, status, problem: null };
		} catch (error) {
			return { at, status: null, problem: describe(error, answerMs) };
		}
	}

	#end(): void {
		if (this.hasEnded) return;
		this.hasEnded = true;
		const remoteAddress = new URL(this.hook.url).origin;
		this.#core.log.warn({ hook: this.hook.id, problem: endedReason }, "webhook ended");
		// Listed in the dashboard like any other rejection.
		const rejection = { what: "webhook", deviceId: undefined, remoteAddress, reason: endedReason } as const;
		this.#core.events.emit("rejected", rejection, false);
		this.deliver();
	}

	#bodyOf(id: string, event: WebhookEvent): string {
		const { gatewayName: gateway } = this.#core.settings;
		return JSON.stringify({ id, time: isoTime(this.#core.now()), ...(gateway && { gateway }), ...event });
	}

	/** Returns undelivered events, oldest first. */
	#undelivered(): readonly (readonly [key: string, record: Delivery])[] {
		const events = [...this.#deliveries].filter(([, { body }]) => body !== "");
		return events.sort(([a], [b]) => numberOf(a) - numberOf(b));
	}

	/** Keeps later keys larger, even if the clock went back. */
	#restore(key: string, record: Delivery): void {
		this.#deliveries.set(key, record);
		if (record.body !== "") this.#newest = Math.max(this.#newest, numberOf(key));
	}

	/** @returns whether no other gateway has written first. On a write error the record stays in memory. */
	async #write(key: string, record: Delivery): Promise<boolean> {
		this.#deliveries.set(key, record);
		await this.#records.save(key, record);
		return this.#deliveries.get(key) === record;
	}

	async #remove(key: string): Promise<void> {
		this.#deliveries.delete(key);
		await this.#records.remove(key);
	}
}

/** Returns the number in an event key. */
function numberOf(key: string): number {
	return Number.parseInt(key, 10);
}

function describe(error: unknown, answerMs: number): string {
	if (!(error instanceof Error)) return String(error);
	if (error.name === "TimeoutError") return `no answer within ${answerMs / 1000} s`;
	return errorCode(error.cause) ?? error.message;
}
