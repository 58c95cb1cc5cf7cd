/** What an update needs, over the virtual flash: the inactive slot, the state of the running image, and SHA-256. */

import { createHash } from "node:crypto";
import { PowerCut } from "../boot/flash.js";
import { imageState } from "../boot/ota-data.js";
import { slots } from "../boot/partitions.js";
import type { Answer, Channel, ChannelHandler } from "../channel.js";
import { type Hardware, numberOf, onFlash } from "./hardware.js";

type FlashHardware = Pick<Hardware, "flash" | "ota" | "onPowerCut">;

export class UpdateSlot implements ChannelHandler {
	readonly #channel: Channel;
	readonly #hardware: FlashHardware;
	/** The first error of the writes since the last call: the firmware does not wait for writes. */
	#failure: unknown;

	constructor({ channel, hardware }: { readonly channel: Channel; readonly hardware: FlashHardware }) {
		this.#channel = channel;
		this.#hardware = hardware;
	}

	onPost(request: string, _detail: unknown, payload: Buffer): void {
		if (request === "complete") return this.#complete();
		try {
			onFlash(this.#hardware, () => this.#hardware.ota.write(payload));
		} catch (error) {
			this.#failure ??= error;
		}
	}

	/** As hosts/esp32/update.ts. */
	#complete(): void {
		try {
			const failure = this.#takeFailure();
			if (failure !== undefined) throw failure;
			onFlash(this.#hardware, () => {
				this.#hardware.ota.abort();
				this.#hardware.ota.setBootPartition();
			});
			this.#channel.send("completed");
		} catch (error) {
			if (error instanceof PowerCut) return;
			this.#channel.send("completed", error instanceof Error ? error.message : String(error));
		}
	}

	onCall(request: string, detail: unknown): Answer | undefined {
		const failure = this.#takeFailure();
		if (failure !== undefined && request !== "close") throw failure;
		return onFlash(this.#hardware, () => this.#perform(request, detail));
	}

	#takeFailure(): unknown {
		const failure = this.#failure;
		this.#failure = undefined;
		return failure;
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
