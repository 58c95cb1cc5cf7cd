/**
 * What an update asks of a host, as far as a desktop program has it: no slot for another firmware, and none on probation.
 * An update goes as far as its head, then says so; the virtual device (`npm run device`) can be updated.
 */

import { Digest } from "crypt";
import type { BootState, Digest as DigestInterface, UpdateSlot } from "../../../device/host.js";

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

export class Sha256 implements DigestInterface {
	readonly #digest = new Digest("SHA256");

	write(bytes: Uint8Array): void {
		// The SDK's typing knows no view.
		this.#digest.write(bytes.slice().buffer);
	}

	close(): ArrayBuffer {
		return this.#digest.close();
	}
}
