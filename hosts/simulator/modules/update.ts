/** Update is not supported: it fails after the head of the image. The virtual device (`npm run device`) can be updated. */

import type { BootState, UpdateSlot } from "../../../device/host.js";

const reason = "the Moddable simulator runs what it was built with; update a virtual device, or a board";

export class NoSlot implements UpdateSlot {
	get byteLength(): number {
		return Number.MAX_SAFE_INTEGER;
	}

	open(): void {
		throw new Error(reason);
	}

	write(): void {
		throw new Error(reason);
	}

	read(): void {
		throw new Error(reason);
	}

	complete(): void {
		throw new Error(reason);
	}

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
