/**
 * Subscription of the page: the summary of all devices, and the reports of those that are on screen or have a pending command. All
 * reports of a large fleet would overload the browser.
 */

import { maxSubscribedDevices } from "../../../api/subscription.js";

export interface SubscriptionOptions {
	/** Ids of devices whose reports are needed even if not shown; they take precedence over shown ones. */
	readonly needed: () => Iterable<string>;
	/** Sends the subscription. */
	readonly send: (ids: readonly string[]) => Promise<void>;
	/** Called with the devices whose reports will arrive. */
	readonly onChanged: (ids: ReadonlySet<string>) => void;
}

/** Debounce time, which skips rows that are scrolled past. */
export const restMs = 250;
const retryMs = 1_000;

export class Subscription {
	readonly #options: SubscriptionOptions;
	/** Number of views that show a device, by its id. */
	readonly #shown = new Map<string, number>();
	/** Undefined while disconnected. */
	#sent: ReadonlySet<string> | undefined;
	#timer: ReturnType<typeof setTimeout> | undefined;

	constructor(options: SubscriptionOptions) {
		this.#options = options;
	}

	/** Adds a device that a view shows. @returns a function that removes it */
	show(id: string): () => void {
		this.#shown.set(id, (this.#shown.get(id) ?? 0) + 1);
		this.plan();
		return () => {
			const count = (this.#shown.get(id) ?? 0) - 1;
			if (count > 0) this.#shown.set(id, count);
			else this.#shown.delete(id);
			this.plan();
		};
	}

	/** Schedules an update of the subscription. */
	plan(): void {
		if (this.#sent) this.#timer ??= setTimeout(() => this.#renew(), restMs);
	}

	/** Subscribes to a device immediately, before a command is sent to it. */
	ensure(id: string): void {
		if (this.#sent && !this.#sent.has(id)) this.#renew();
	}

	onOpen(): void {
		this.#sent = new Set();
		void this.#subscribe(this.#wanted());
	}

	onLost(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#sent = undefined;
	}

	#renew(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		const wanted = this.#wanted();
		const sent = this.#sent;
		if (!sent || (wanted.size === sent.size && [...wanted].every((id) => sent.has(id)))) return;
		void this.#subscribe(wanted);
	}

	async #subscribe(ids: ReadonlySet<string>): Promise<void> {
		this.#sent = ids;
		this.#options.onChanged(ids);
		await this.#options.send([...ids]).catch(() => {
			setTimeout(() => {
				if (this.#sent === ids) void this.#subscribe(this.#wanted());
			}, retryMs);
		});
	}

	#wanted(): ReadonlySet<string> {
		const ids = new Set<string>();
		for (const some of [this.#options.needed(), this.#shown.keys()])
			for (const id of some) if (ids.size < maxSubscribedDevices) ids.add(id);
		return ids;
	}
}
