/** Logins that were ended, by logging out or as codes that were used: on one gateway, so on all. Each has a key. */

import type { EndedLogins } from "../access/ended-logins.js";
import { type Bucket, type BucketOptions, type Bus, BusError, type Unsubscribe } from "../bus.js";
import { whenReached } from "./when-reached.js";

export interface SharedLoginsOptions {
	readonly bus: Bus;
	readonly endedLogins: EndedLogins;
	readonly onProblem: (sentence: string) => void;
}

/** Longer than a login is valid, by any gateway's clock. */
const bucketOptions: BucketOptions = Object.freeze({ ttlMs: 32 * 24 * 60 * 60 * 1000 });

export class SharedLogins {
	readonly #options: SharedLoginsOptions;
	#bucket: Bucket | undefined;
	/** By signature: those that the bus has not got yet. */
	readonly #waiting = new Map<string, number>();
	#ends: Unsubscribe[] = [];
	#isClosed = false;

	constructor(options: SharedLoginsOptions) {
		this.#options = options;
	}

	/** To be called once the logins are open. */
	async open(): Promise<void> {
		const { bus, endedLogins } = this.#options;
		endedLogins.claim = (signature, expires) => this.#claim(signature, expires);
		this.#ends.push(bus.onStatus((isConnected) => isConnected && void this.#send()));
		await whenReached(
			() => this.#isClosed,
			async () => {
				const bucket = await bus.bucket("gw-ended-logins", bucketOptions);
				for (const [signature, expires] of Object.entries(endedLogins.file.ended))
					this.#waiting.set(signature, expires);
				this.#ends.push(await bucket.watch((signature, entry) => this.#take(signature, Number(entry?.text))));
				this.#bucket = bucket;
			},
		);
		await this.#send();
	}

	close(): void {
		this.#isClosed = true;
		for (const end of this.#ends) end();
		this.#ends = [];
	}

	#take(signature: string, expires: number): void {
		const { endedLogins, onProblem } = this.#options;
		if (!Number.isSafeInteger(expires)) return;
		endedLogins
			.take({ endedBefore: 0, ended: { [signature]: expires } })
			.catch((error: Error) => onProblem(`Ended logins cannot be written: ${error.message}`));
	}

	/** Without the bus each gateway counts for itself. @returns whether no other gateway has ended this login */
	async #claim(signature: string, expires: number): Promise<boolean> {
		try {
			return (await this.#bucket?.set(signature, String(expires), 0)) !== undefined || !this.#bucket;
		} catch (error) {
			if (!(error instanceof BusError)) throw error;
			this.#waiting.set(signature, expires);
			return true;
		}
	}

	async #send(): Promise<void> {
		// A copy: what fails is added again.
		for (const [signature, expires] of [...this.#waiting]) {
			this.#waiting.delete(signature);
			await this.#claim(signature, expires);
		}
	}
}
