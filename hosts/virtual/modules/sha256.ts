/** Moddable's `crypt` Digest for SHA-256; Node computes it. */

import type { Digest } from "../../../device/host.js";
import Channel from "./channel.js";

export default class Sha256 implements Digest {
	readonly #channel = new Channel("sha256", {}, () => {});

	write(bytes: Uint8Array): void {
		this.#channel.post("write", undefined, bytes);
	}

	close(): ArrayBuffer {
		const { payload } = this.#channel.call("digest");
		this.#channel.close();
		return payload ?? new ArrayBuffer(0);
	}
}
