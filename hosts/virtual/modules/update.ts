/** Parts for updates: inactive slot, running image, boot state and SHA-256. The flash is in Node. */

import type {
	BootState as BootStateInterface,
	Digest,
	RunningImage as RunningImageInterface,
	UpdateSlot as UpdateSlotInterface,
} from "../../../device/host.js";
import Channel from "./channel.js";

/** Inactive slot. */
export class UpdateSlot implements UpdateSlotInterface {
	#onCompleted: ((problem: string | undefined) => void) | undefined;
	readonly #channel: Channel<"update-slot"> = new Channel(
		"update-slot",
		{},
		{
			completed: (problem) => {
				this.#channel.close();
				this.#onCompleted?.(problem ?? undefined);
			},
		},
	);

	get byteLength(): number {
		return this.#channel.call("byteLength");
	}

	open(): void {
		this.#channel.call("open");
	}

	/** Does not block; the next call throws a write error. */
	write(bytes: Uint8Array): void {
		this.#channel.post("write", undefined, bytes);
	}

	complete(onEnd: (problem: string | undefined) => void): void {
		this.#onCompleted = onEnd;
		this.#channel.post("complete");
	}

	close(): void {
		this.#channel.call("close");
		this.#channel.close();
	}
}

export class RunningImage implements RunningImageInterface {
	readonly #channel = new Channel("running-image", {}, {});

	get byteLength(): number {
		return this.#channel.call("byteLength");
	}

	read(buffer: Uint8Array, offset: number): void {
		buffer.set(this.#channel.call("read", { offset, byteLength: buffer.byteLength }));
	}

	close(): void {
		this.#channel.close();
	}
}

/** Boot loader state of the running image. */
export class BootState implements BootStateInterface {
	readonly #channel = new Channel("boot-state", {}, {});

	get isPendingVerify(): boolean {
		return this.#channel.call("isPendingVerify");
	}

	confirm(): boolean {
		try {
			this.#channel.call("confirm");
			return true;
		} catch (error) {
			trace(`confirming the image failed: ${error}\n`);
			return false;
		}
	}

	rollBack(): void {
		if (this.#channel.call("rollBack")) natives.exit("restart");
	}
}

/** Moddable's `crypt` Digest for SHA-256; Node computes it. */
export class Sha256 implements Digest {
	readonly #channel = new Channel("sha256", {}, {});

	write(bytes: Uint8Array): void {
		this.#channel.post("write", undefined, bytes);
	}

	close(): ArrayBuffer {
		const digest = this.#channel.call("digest");
		this.#channel.close();
		return digest.slice().buffer;
	}
}
