/**
 * The simulator runs what was built for the desktop, and cannot put other firmware in its place. So it says, at the first
 * block: the update ends with `ota_error` and this reason, and nothing is written.
 */

import type { BootState, UpdateSlot } from "../../../device/host.js";

const reason = "the simulator keeps no second firmware; build it anew instead";

export class NoSlot implements UpdateSlot {
	/** No firmware is too long to be refused by open(), whose sentence says more. */
	readonly byteLength = Number.MAX_SAFE_INTEGER;

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

/** What the simulator runs is never on probation. */
export class ConfirmedBoot implements BootState {
	readonly isPendingVerify = false;

	confirm(): boolean {
		return true;
	}

	rollBack(): void {}
}
