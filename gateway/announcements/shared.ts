/**
 * Announcements of several gateways: each is kept by the gateway that began it, which a bucket names; the others ask that one.
 * A frame of one goes to the monitors of all.
 */

import type { Announcement } from "../api/announcement.js";
import { type Bucket, type BucketOptions, BusError, subjectOf, type Unsubscribe } from "../bus.js";
import type { Core, Peers } from "../extension.js";
import { parseJson } from "../json.js";
import { HttpProblem } from "../problem.js";
import type { Announcements } from "./announcements.js";

const bucketOptions: BucketOptions = Object.freeze({ ttlMs: 24 * 60 * 60 * 1000 });
const answerMs = 3_000;
/** More would not fit a message of the bus. */
export const devicesAtOnce = 2_000;
/** Of other gateways, in a list. */
const listedAtMost = 20;

interface Question {
	readonly id: string;
	/** Of the device that the answer begins with. */
	readonly from: number;
	/** Stops it. */
	readonly stop?: boolean;
}

export class SharedAnnouncements {
	readonly #peers: Pick<Peers, "id" | "bus">;
	readonly #core: Pick<Core, "monitors" | "log">;
	readonly #own: Announcements;
	#bucket: Bucket | undefined;
	/** By announcement: its gateway. */
	readonly #gateways = new Map<string, string>();
	#ends: Unsubscribe[] = [];

	constructor(peers: Pick<Peers, "id" | "bus">, core: Pick<Core, "monitors" | "log">, own: Announcements) {
		this.#peers = peers;
		this.#core = core;
		this.#own = own;
		own.onBegun = (id) => this.#name(id);
		own.onFrame = (frame) => peers.bus.publish(subjectOf("gw", "announced", peers.id), frame);
	}

	open(): void {
		const { bus, id } = this.#peers;
		const own = subjectOf("gw", "announced", id);
		this.#ends = [
			bus.serve(subjectOf("gw", "announcement", id), async (text) => this.#answer(JSON.parse(text))),
			bus.subscribe("gw.announced.*", (frame, subject) => {
				if (subject !== own) this.#core.monitors.broadcast("announcements", frame);
			}),
			bus.onStatus((isConnected) => isConnected && void this.#join()),
		];
		void this.#join();
	}

	close(): void {
		for (const end of this.#ends) end();
		this.#ends = [];
	}

	/** The newest first; those of a gateway that does not answer are left out. */
	async list(): Promise<readonly Announcement[]> {
		const others = [...this.#gateways]
			.filter(([, gateway]) => gateway !== this.#peers.id)
			.slice(-listedAtMost);
		const found = await Promise.all(others.map(([id]) => this.find(id).catch(() => undefined)));
		const all = [...this.#own.list(), ...found.flatMap((each) => each ?? [])];
		return all.sort((a, b) => b.createdAt.localeCompare(a.createdAt));
	}

	/** @throws {HttpProblem} 404, 503 */
	async find(id: string): Promise<Announcement> {
		if (this.#isOwn(id)) return this.#own.find(id);
		const first = await this.#ask({ id, from: 0 });
		const devices = [...first.devices];
		const total = Object.values(first.counts).reduce((sum, count) => sum + count, 0);
		while (devices.length < total) {
			const next = (await this.#ask({ id, from: devices.length })).devices;
			if (next.length === 0) break;
			devices.push(...next);
		}
		return { ...first, devices };
	}

	/** @throws {HttpProblem} 404, 503 */
	async stop(id: string): Promise<void> {
		if (this.#isOwn(id)) this.#own.stop(id);
		else await this.#ask({ id, from: 0, stop: true });
	}

	#isOwn(id: string): boolean {
		return (this.#gateways.get(id) ?? this.#peers.id) === this.#peers.id;
	}

	#answer({ id, from, stop }: Question): string {
		try {
			if (stop) this.#own.stop(id);
			const found = this.#own.find(id);
			return JSON.stringify({ ...found, devices: found.devices.slice(from, from + devicesAtOnce) });
		} catch (error) {
			if (error instanceof HttpProblem) return JSON.stringify({ problem: error.refusal });
			throw error;
		}
	}

	async #ask(question: Question): Promise<Announcement> {
		const gateway = this.#gateways.get(question.id) ?? "";
		const subject = subjectOf("gw", "announcement", gateway);
		try {
			const text = await this.#peers.bus.request(subject, JSON.stringify(question), answerMs);
			const answer = JSON.parse(text);
			if (!answer.problem) return answer;
			throw new HttpProblem(answer.problem.status, answer.problem.detail);
		} catch (error) {
			if (!(error instanceof BusError)) throw error;
			throw new HttpProblem(503, "The gateway that plays it cannot be reached; try again.");
		}
	}

	/** Says which gateway has it; without the bus only this one shows it. */
	async #name(id: string): Promise<void> {
		try {
			await this.#bucket?.set(id, JSON.stringify(this.#peers.id), 0);
		} catch (error) {
			if (!(error instanceof BusError)) throw error;
		}
	}

	async #join(): Promise<void> {
		try {
			if (this.#bucket) return;
			const bucket = await this.#peers.bus.bucket("gw-announcements", bucketOptions);
			this.#bucket = bucket;
			this.#ends.push(
				await bucket.watch((id, entry) => {
					const gateway = entry && parseJson(entry.text);
					if (typeof gateway === "string") this.#gateways.set(id, gateway);
					else this.#gateways.delete(id);
				}),
			);
		} catch (error) {
			this.#bucket = undefined;
			if (!(error instanceof BusError)) throw error;
		}
	}
}
