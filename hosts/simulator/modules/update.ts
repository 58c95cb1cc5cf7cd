/**
 * An update up to its last step: the image is received, kept in a file, read back and checked, and then not started. The virtual
 * device (`npm run device`) can be updated.
 */

import { File } from "file";
import type { Boot } from "simulator/panel";
import type { BootState, RunningImage, UpdateSlot } from "../../../device/host.js";

/** Of the virtual device. */
const slotBytes = 0x200_000;

/** A file, since an image is larger than the heap. */
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
			"the Moddable simulator runs what it was built with; update a virtual device, or a board",
		);
	}

	close(): void {
		this.#file?.close();
		this.#file = undefined;
		File.delete(this.#path);
	}
}

/** The simulator runs no image, so no patch fits. */
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
