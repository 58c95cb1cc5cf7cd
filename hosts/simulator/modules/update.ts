/**
 * Update up to its last step: the image is received, stored in a file, read back and verified, but not started. To test complete updates,
 * use the virtual device (`npm run device`).
 */

import { File } from "file";
import type { Boot } from "simulator/panel";
import type { BootState, RunningImage, UpdateSlot } from "../../../device/host.js";

/** Slot size of the virtual device. */
const slotBytes = 0x200_000;

/** Slot in a file, because an image is larger than the heap. */
export class FileSlot implements UpdateSlot {
	readonly #path: string;
	#file: File | undefined;

	constructor({ boot }: { readonly boot: Boot }) {
		this.#path = boot.slotPath;
	}

	get byteLength(): number {
		return slotBytes;
	}

	open(): void {
		File.delete(this.#path);
		this.#file = new File(this.#path, true);
	}

	write(bytes: Uint8Array): void {
		this.#file?.write(bytes.slice().buffer);
	}

	read(buffer: Uint8Array, offset: number): void {
		if (!this.#file) return;
		this.#file.position = offset;
		buffer.set(new Uint8Array(this.#file.read(ArrayBuffer, buffer.byteLength)));
	}

	complete(): void {
		throw new Error(
			"the Moddable simulator cannot start an updated image; update a virtual device or a board",
		);
	}

	close(): void {
		this.#file?.close();
		this.#file = undefined;
		File.delete(this.#path);
	}
}

/** Empty image: the simulator does not run an image, so patches do not apply. */
export class NoImage implements RunningImage {
	readonly byteLength = 0;

	read(): void {}

	close(): void {}
}

export class AlwaysConfirmed implements BootState {
	get isPendingVerify(): boolean {
		return false;
	}

	confirm(): boolean {
		return true;
	}

	rollBack(): void {}
}
