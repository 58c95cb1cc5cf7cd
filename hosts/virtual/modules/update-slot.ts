/** The app slot that does not run: Moddable's `embedded:update` over the flash that Node keeps. */

import type { UpdateSlot as Interface } from "../../../device/host.js";
import { copyInto } from "./bytes.js";
import Channel from "./channel.js";
import { numberField } from "./fields.js";

export default class UpdateSlot implements Interface {
	readonly #channel = new Channel("update-slot", {}, () => {});

	get byteLength(): number {
		return numberField(this.#channel.call("status").detail, "byteLength");
	}

	open(): void {
		this.#channel.call("open");
	}

	/** Is not waited for: what is wrong with it, the next request throws. */
	write(bytes: Uint8Array): void {
		this.#channel.post("write", undefined, bytes);
	}

	/** In pieces: what Node answers lies in the heap too. */
	read(buffer: Uint8Array, offset: number): void {
		const pieceBytes = 4096;
		for (let at = 0; at < buffer.byteLength; at += pieceBytes) {
			const byteLength = Math.min(pieceBytes, buffer.byteLength - at);
			const { payload } = this.#channel.call("read", { offset: offset + at, byteLength });
			if (payload) copyInto(buffer, at, new Uint8Array(payload));
		}
	}

	complete(): void {
		this.#channel.call("complete");
		this.#channel.close();
	}

	close(): void {
		this.#channel.call("close");
		this.#channel.close();
	}
}
