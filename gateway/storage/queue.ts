/** Job queues: jobs run one after another, in order, even after a failure. */

export class Queue {
	#latest: Promise<unknown> = Promise.resolve();

	/** @returns result of the job, which may also throw */
	add<T>(work: () => T | Promise<T>): Promise<T> {
		const done = this.#latest.then(work);
		this.#latest = done.catch(() => {});
		return done;
	}

	/** Resolves when all jobs have ended, including those added meanwhile. */
	async settle(): Promise<void> {
		const latest = this.#latest;
		await latest;
		if (latest !== this.#latest) await this.settle();
	}
}

/** Concurrent queues. Jobs with the same key run in order. */
export class Queues {
	readonly #queues: readonly Queue[];

	constructor(count: number) {
		this.#queues = Array.from({ length: count }, () => new Queue());
	}

	add<T>(key: string, work: () => T | Promise<T>): Promise<T> {
		const sum = Buffer.from(key).reduce((total, byte) => total + byte, 0);
		const queue = this.#queues[sum % this.#queues.length] ?? new Queue();
		return queue.add(work);
	}

	/** Resolves when all jobs have ended. */
	async settle(): Promise<void> {
		await Promise.all(this.#queues.map((queue) => queue.settle()));
	}
}
