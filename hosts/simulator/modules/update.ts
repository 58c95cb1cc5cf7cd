/**
 * What an update asks of a host, as far as a desktop program has it: no slot for another firmware, and none on probation.
 * An update goes as far as its head, then says so; the virtual device (`npm run device`) can be updated.
 */

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
