/**
 * Jobs of all gateways of a cluster. Each gateway answers for the jobs that it runs, and sends their frames to the
 * monitors of all.
 */

import { type Bus, subjectOf } from "../bus.js";
import type { Core } from "../extension.js";
import type { PeerQuery } from "../peers.js";
import { RequestError } from "../problem.js";
import { frameCharacters } from "../sessions/view.js";
import type { Unsubscribe } from "../storage/log.js";
import type { Described, Head, Job, JobDescription, Jobs } from "./jobs.js";
import { partsAtOnce } from "./parts.js";

/** Jobs of another gateway in a list. */
const maxListed = 20;

interface Question {
	/** Undefined: heads of the latest jobs. */
	readonly id?: string;
	/** Index of the first device in the response. */
	readonly from?: number;
	/** Whether to stop the job. */
	readonly stop?: boolean;
}

export class SharedJobs<D extends JobDescription, J extends Job<D>> {
	readonly #jobs: Jobs<D, J>;
	readonly #bus: Bus | undefined;
	readonly #query: PeerQuery;
	readonly #subject: (gateway: string) => string;
	readonly #own: string;
	#end: Unsubscribe = () => {};

	constructor({ peers }: Pick<Core, "peers">, jobs: Jobs<D, J>) {
		const { channel } = jobs.options;
		this.#jobs = jobs;
		this.#bus = peers.bus;
		this.#query = peers.defineQuery(`jobs-${channel}`, (text) => this.#answer(JSON.parse(text)));
		this.#subject = (gateway) => `${subjectOf("gw", "jobs", channel)}.${gateway}`;
		this.#own = this.#subject(subjectOf(peers.id));
	}

	open(): void {
		const bus = this.#bus;
		if (!bus) return;
		this.#jobs.onFrame = (frame) => bus.publish(this.#own, frame);
		this.#end = bus.subscribe(this.#subject("*"), (frame, subject) => {
			if (subject !== this.#own) this.#jobs.show(frame);
		});
	}

	close(): void {
		this.#end();
	}

	/** Lists jobs, newest first, without those of gateways that do not respond. */
	async list(): Promise<readonly Head<D>[]> {
		const own = Array.from(this.#jobs.all(), (job) => job.head());
		const answers = this.#bus ? await this.#query.sendToAll("{}") : [];
		const others = answers.flatMap((text): readonly Head<D>[] => (text ? JSON.parse(text) : []));
		const all = [...own, ...others.filter(({ id }) => !this.#jobs.get(id))];
		return all.reverse().sort((a, b) => b.createdAt.localeCompare(a.createdAt));
	}

	/** @throws {RequestError} 404, 503 */
	async find(id: string): Promise<Described<D>> {
		const own = this.#jobs.get(id);
		if (own) return { ...own.head(), devices: own.parts.shown() };
		const first = await this.#request({ id });
		const devices = [...first.devices];
		for (let { length } = devices; length === partsAtOnce; ) {
			const next = await this.#request({ id, from: devices.length });
			devices.push(...next.devices);
			({ length } = next.devices);
		}
		return { ...first, devices };
	}

	/** @throws {RequestError} 404, 503 */
	async stop(id: string): Promise<void> {
		const own = this.#jobs.get(id);
		if (own) this.#jobs.options.onStop(own);
		else await this.#request({ id, stop: true });
	}

	/** @returns empty for a job of another gateway */
	#answer({ id, from = 0, stop }: Question): string {
		if (id === undefined) return this.#listText();
		const job = this.#jobs.get(id);
		if (!job) return "";
		if (stop) this.#jobs.options.onStop(job);
		return JSON.stringify({ ...job.head(), devices: job.parts.shown().slice(from, from + partsAtOnce) });
	}

	/** Returns the latest jobs, as many as fit into a message. */
	#listText(): string {
		const texts: string[] = [];
		let size = 0;
		for (const job of [...this.#jobs.all()].reverse().slice(0, maxListed)) {
			const text = JSON.stringify(job.head());
			size += text.length;
			if (size > frameCharacters) break;
			texts.push(text);
		}
		return `[${texts.join(",")}]`;
	}

	async #request(question: Question & { readonly id: string }): Promise<Described<D>> {
		const { noun, channel } = this.#jobs.options;
		if (this.#bus && !this.#bus.isConnected)
			throw new RequestError(503, "The gateway that runs this job is unreachable. Try again.");
		const text = (await this.#query.sendToAll(JSON.stringify(question))).find((answer) => answer !== "");
		if (text !== undefined) return JSON.parse(text);
		throw new RequestError(404, `No ${noun} has the id ${question.id}. GET /api/${channel} lists all.`);
	}
}
