/** In place of network/link: a way to the gateway that never leads there. */

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
