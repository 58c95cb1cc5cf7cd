/** The audio codec's control side; Node keeps what it was told. */

import type { Codec as Interface } from "../../../device/host.js";
import Channel from "./channel.js";

export default class Codec implements Interface {
	readonly #channel = new Channel("codec", {}, () => {});
	#volume = 0;
	#isMuted = false;

	get isReady(): boolean {
		return true;
	}

	get volume(): number {
		return this.#volume;
	}

	set volume(volume: number) {
		this.#volume = volume;
		this.#channel.post("volume", volume);
	}

	get isMuted(): boolean {
		return this.#isMuted;
	}

	set isMuted(isMuted: boolean) {
		this.#isMuted = isMuted;
		this.#channel.post("muted", isMuted);
	}

	close(): void {
		this.#channel.close();
	}
}
