/**
 * Update up to its last step: the image is received and checked, but neither stored nor started. To test complete updates,
 * use the virtual device (`npm run device`).
 */

import type { BootState, RunningImage, UpdateSlot } from "../../../device/host.js";

/** Slot size of the virtual device. */
const slotBytes = 0x200_000;

/** Inactive slot without flash: the image is not stored. */
export class NoSlot implements UpdateSlot {
	readonly byteLength = slotBytes;

	open(): void {}

	write(): void {}

	complete(): void {
		throw new Error(
			"the Moddable simulator cannot start an updated image; update a virtual device or a board",
		);
	}

	close(): void {}
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
