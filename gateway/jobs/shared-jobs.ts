/**
 * Jobs of all gateways of a cluster. A bucket contains the gateway that runs each job, which answers requests of the other ones.
 * Frames are sent to the monitors of all gateways.
 */

import { parseJson } from "../api/json.js";
import { type Bucket, type BucketOptions, type Bus, BusError, subjectOf } from "../bus.js";
import type { Core } from "../extension.js";
import { RequestError } from "../problem.js";
import { retryUntilConnected } from "../retry-until-connected.js";
import type { Unsubscribe } from "../storage/log.js";
import type { Job, JobDescription, Jobs, ShownJobs } from "./jobs.js";
import { partsAtOnce } from "./parts.js";

const bucketOptions: BucketOptions = Object.freeze({ ttlMs: 24 * 60 * 60 * 1000 });
const answerMs = 3_000;
/** Jobs of other gateways in a list. */
const maxListed = 20;

interface Question {
	readonly id: string;
	/** Index of the first device in the response. */
	readonly from: number;
	/** Whether to stop the job. */
	readonly stop?: boolean;
}

export interface SharedJobsOptions<D extends JobDescription, J extends Job<D>> {
	readonly peers: { readonly id: string; readonly bus: Bus };
	readonly core: Pick<Core, "log">;
	readonly jobs: Jobs<D, J>;
}

export class SharedJobs<D extends JobDescription, J extends Job<D>> implements ShownJobs<D> {
	readonly #options: SharedJobsOptions<D, J>;
	readonly #channel: string;
	#bucket: Bucket | undefined;
	/** Id of the gateway by job id. */
	readonly #gateways = new Map<string, string>();
	#ends: Unsubscribe[] = [];
	#isClosed = false;

	constructor(options: SharedJobsOptions<D, J>) {
		this.#options = options;
		const { jobs, peers } = options;
		this.#channel = jobs.options.channel;
		jobs.onBegun = (id) => this.#name(id);
		jobs.onFrame = (frame) => peers.bus.publish(subjectOf("gw", "jobs", this.#channel, peers.id), frame);
	}

	open(): void {
		const { peers, core, jobs } = this.#options;
		const { bus, id } = peers;
		const frames = (gateway: string) => `${subjectOf("gw", "jobs", this.#channel)}.${gateway}`;
		const own = frames(subjectOf(id));
		this.#ends = [
			bus.serve(subjectOf("gw", "job", this.#channel, id), async (text) => this.#answer(JSON.parse(text))),
			bus.subscribe(frames("*"), (frame, subject) => {
				if (subject !== own) jobs.show(frame);
			}),
		];
		const isClosed = () => this.#isClosed;
		const onProblem = (problem: string) => core.log.warn({ problem }, this.#channel);
		void retryUntilConnected({ isClosed, onProblem }, () => this.#watch());
	}

	close(): void {
		this.#isClosed = true;
		for (const end of this.#ends) end();
		this.#ends = [];
	}

	/** Lists jobs, without those of gateways that do not respond. */
	async *list(): AsyncGenerator<D> {
		const { jobs, peers } = this.#options;
		const others = [...this.#gateways].filter(([, gateway]) => gateway !== peers.id).slice(-maxListed);
		const found = await Promise.all(others.map(([id]) => this.find(id).catch(() => undefined)));
		const rest = found.flatMap((jobs) => jobs ?? []);
		rest.sort((a, b) => b.createdAt.localeCompare(a.createdAt));
		for (const own of jobs.list()) {
			while (rest[0] && rest[0].createdAt > own.createdAt) yield* rest.splice(0, 1);
			yield own;
		}
		yield* rest;
	}

	/** @throws {RequestError} 404, 503 */
	async find(id: string): Promise<D> {
		if (this.#isOwn(id)) return this.#options.jobs.find(id);
		const first = await this.#request({ id, from: 0 });
		const devices = [...first.devices];
		const total = Object.values(first.counts).reduce((sum, count) => sum + count, 0);
		while (devices.length < total) {
			const next = (await this.#request({ id, from: devices.length })).devices;
			if (next.length === 0) break;
			devices.push(...next);
		}
		return { ...first, devices };
	}

	/** @throws {RequestError} 404, 503 */
	async stop(id: string): Promise<void> {
		if (this.#isOwn(id)) this.#options.jobs.stop(id);
		else await this.#request({ id, from: 0, stop: true });
	}

	#isOwn(id: string): boolean {
		const { peers } = this.#options;
		return (this.#gateways.get(id) ?? peers.id) === peers.id;
	}

	#answer({ id, from, stop }: Question): string {
		try {
			const { jobs } = this.#options;
			const found = jobs.find(id);
			if (stop) jobs.stop(id);
			return JSON.stringify({ ...found, devices: found.devices.slice(from, from + partsAtOnce) });
		} catch (error) {
			if (error instanceof RequestError) return JSON.stringify({ problem: error.rejection });
			throw error;
		}
	}

	async #request(question: Question): Promise<D> {
		const gateway = this.#gateways.get(question.id) ?? "";
		const subject = subjectOf("gw", "job", this.#channel, gateway);
		try {
			const { bus } = this.#options.peers;
			const answer = JSON.parse(await bus.request(subject, JSON.stringify(question), answerMs));
			if (!answer.problem) return answer;
			throw new RequestError(answer.problem.status, answer.problem.detail);
		} catch (error) {
			if (!(error instanceof BusError)) throw error;
			const { noun } = this.#options.jobs.options;
			throw new RequestError(503, `The gateway that runs this ${noun} is unreachable. Try again.`);
		}
	}

	/** Announces that this gateway runs a job. Without the bus, only this gateway shows it. */
	async #name(id: string): Promise<void> {
		try {
			await this.#bucket?.set(id, JSON.stringify(this.#options.peers.id), 0);
		} catch (error) {
			if (!(error instanceof BusError)) throw error;
		}
	}

	async #watch(): Promise<void> {
		const bucket = await this.#options.peers.bus.bucket(`gw-${this.#channel}`, bucketOptions);
		const end = await bucket.watch((id, entry) => {
			const gateway = entry && parseJson(entry.text);
			if (typeof gateway === "string") this.#gateways.set(id, gateway);
			else this.#gateways.delete(id);
		});
		if (this.#isClosed) return end();
		this.#ends.push(end);
		this.#bucket = bucket;
	}
}
