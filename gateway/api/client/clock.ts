/**
 * Estimate of the gateway's clock from the timestamps of frames, for ages of its times: this computer's clock may be hours
 * off.
 */
export class GatewayClock {
	readonly #own: () => number;
	#aheadMs = 0;

	/** @param own this computer's clock, in milliseconds since 1970 */
	constructor(own: () => number = () => Date.now()) {
		this.#own = own;
	}

	/** Milliseconds by which it is ahead of this computer's; 0 before the first frame. */
	get aheadMs(): number {
		return this.#aheadMs;
	}

	/** Milliseconds since 1970. */
	now(): number {
		return this.#own() + this.#aheadMs;
	}

	/**
	 * @param timestamp of a frame, ISO 8601
	 * @param isFirst whether it begins a snapshot; later frames may be read late, as in a tab that was not run, and count only
	 * where they say more
	 */
	sync(timestamp: string, isFirst: boolean): void {
		const aheadMs = Date.parse(timestamp) - this.#own();
		this.#aheadMs = isFirst ? aheadMs : Math.max(this.#aheadMs, aheadMs);
	}
}
