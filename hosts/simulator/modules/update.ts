/**
 * An update up to its last step: the image is received, kept in memory, read back and checked, and then not started. The virtual
 * device (`npm run device`) can be updated.
 */

import type { BootState, UpdateSlot } from "../../../device/host.js";

/** Of the virtual device. */
const slotBytes = 0x200_000;

export class MemorySlot implements UpdateSlot {
	#blocks: Uint8Array[] = [];

	get byteLength(): number {
		return slotBytes;
	}

	open(): void {
		this.#blocks = [];
	}

	write(bytes: Uint8Array): void {
		this.#blocks.push(bytes.slice());
	}

	read(buffer: Uint8Array, offset: number): void {
		let start = -offset;
		for (const block of this.#blocks) {
			const end = start + block.byteLength;
			if (end > 0 && start < buffer.byteLength) {
				const part = block.subarray(
					Math.max(0, -start),
					Math.min(block.byteLength, buffer.byteLength - start),
				);
				buffer.set(part, Math.max(0, start));
			}
			start = end;
		}
	}

	complete(): void {
		throw new Error(
			"the Moddable simulator runs what it was built with; update a virtual device, or a board",
		);
	}

	close(): void {
		this.#blocks = [];
	}
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
