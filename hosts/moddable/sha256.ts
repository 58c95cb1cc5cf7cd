import { Digest } from "crypt";
import type { Digest as Interface } from "../../device/host.js";

export class Sha256 implements Interface {
	readonly #digest = new Digest("SHA256");

	write(bytes: Uint8Array): void {
		this.#digest.write(bytes);
	}

	close(): ArrayBuffer {
		return this.#digest.close();
	}
}
