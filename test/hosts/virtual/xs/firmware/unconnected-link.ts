/** Replacement of network/link that never connects to the gateway. */

export type LinkState = "offline" | "connecting" | "connected" | "failed";

export class Link {
	readonly #onStateChanged: (state: LinkState) => void;

	constructor(options: { onStateChanged: (state: LinkState) => void }) {
		this.#onStateChanged = options.onStateChanged;
	}

	get state(): LinkState {
		return "connecting";
	}

	get isDrained(): boolean {
		return false;
	}

	start(): void {
		this.#onStateChanged("connecting");
	}

	stop(): void {}

	retryNow(): void {}

	send(): void {}
}
