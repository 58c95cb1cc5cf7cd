/** What an update needs, over the virtual flash: the inactive slot, the state of the running image, and SHA-256. */

import { createHash } from "node:crypto";
import { imageState } from "../boot/ota-data.js";
import { slots } from "../boot/partitions.js";
import type { Answer, ChannelHandler } from "../channel.js";
import { type Hardware, numberOf, onFlash } from "./hardware.js";

type FlashHardware = Pick<Hardware, "flash" | "ota" | "onPowerCut">;

export class UpdateSlot implements ChannelHandler {
	readonly #hardware: FlashHardware;
	/** The first error of the writes since the last call: the firmware does not wait for writes. */
	#failure: unknown;

	constructor({ hardware }: { readonly hardware: FlashHardware }) {
		this.#hardware = hardware;
	}

	onPost(_request: string, _detail: unknown, payload: Buffer): void {
		try {
			onFlash(this.#hardware, () => this.#hardware.ota.write(payload));
		} catch (error) {
			this.#failure ??= error;
		}
	}

	onCall(request: string, detail: unknown): Answer | undefined {
		const error = this.#failure;
		this.#failure = undefined;
		if (error !== undefined && request !== "close") throw error;
		return onFlash(this.#hardware, () => this.#perform(request, detail));
	}

	#perform(request: string, detail: unknown): Answer | undefined {
		const { flash, ota } = this.#hardware;
		const { offset, byteLength } = slots[ota.next];
		switch (request) {
			case "status":
				return { detail: { byteLength } };
			case "open":
				ota.begin();
				return undefined;
			case "read": {
				const start = numberOf(detail, "offset");
				const count = numberOf(detail, "byteLength");
				if (start < 0 || start + count > byteLength) throw new RangeError("outside of the slot");
				return { payload: flash.read(offset + start, count) };
			}
			case "complete":
				// As Moddable's Update, which verifies the image in both.
				ota.end();
				ota.setBootPartition();
				return undefined;
			case "close":
				ota.abort();
				return undefined;
			default:
				throw new Error(`the update slot has no request "${request}"`);
		}
	}
}

export class BootState implements ChannelHandler {
	readonly #hardware: FlashHardware;

	constructor({ hardware }: { readonly hardware: FlashHardware }) {
		this.#hardware = hardware;
	}

	onCall(request: string): Answer | undefined {
		const { ota } = this.#hardware;
		return onFlash(this.#hardware, () => {
			if (request === "isPendingVerify") return { detail: ota.state === imageState.pendingVerify };
			if (request === "rollBack") return { detail: ota.markInvalid() };
			ota.markValid();
			return undefined;
		});
	}
}

export class Sha256 implements ChannelHandler {
	readonly #hash = createHash("sha256");

	onPost(_request: string, _detail: unknown, bytes: Buffer): void {
		this.#hash.update(bytes);
	}

	onCall(): Answer {
		return { payload: this.#hash.digest() };
	}
}
