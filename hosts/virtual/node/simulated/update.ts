/** Parts for updates on the virtual flash: inactive slot, running image, boot state and SHA-256. */

import { createHash } from "node:crypto";
import { messageOf } from "../../../../device/message-of.js";
import type { Peripherals } from "../../peripherals.js";
import { PowerCut } from "../boot/flash.js";
import { slots } from "../boot/partitions.js";
import { type Hardware, type Opened, onFlash, type Simulate, type Simulated } from "./hardware.js";

type FlashHardware = Pick<Hardware, "flash" | "ota" | "onPowerCut">;
type Slot = Peripherals["update-slot"];

export class UpdateSlot implements Simulated<"update-slot"> {
	/** First error of a write since the last call, since the firmware does not wait for writes. */
	#failure: unknown;
	readonly posts: Slot["posts"];
	readonly calls: Slot["calls"];

	constructor({ send }: Pick<Opened<"update-slot">, "send">, hardware: FlashHardware) {
		const { ota } = hardware;
		const call = <T>(action: () => T): T => {
			this.#throwFailure();
			return onFlash(hardware, action);
		};
		this.posts = {
			write: (_detail, bytes) => {
				try {
					onFlash(hardware, () => ota.write(bytes));
				} catch (error) {
					this.#failure ??= error;
				}
			},
			// Same steps as hosts/esp32/update.ts.
			complete: () => {
				try {
					call(() => {
						ota.end();
						ota.selectNext();
					});
					send("completed", null);
				} catch (error) {
					if (error instanceof PowerCut) return;
					send("completed", messageOf(error));
				}
			},
		};
		this.calls = {
			byteLength: () => call(() => slots[ota.next].byteLength),
			open: () => call(() => ota.begin()),
			close: () => {
				this.#failure = undefined;
				ota.end();
			},
		};
	}

	#throwFailure(): void {
		const failure = this.#failure;
		this.#failure = undefined;
		if (failure !== undefined) throw failure;
	}
}

export const runningImage: Simulate<"running-image"> = (_channel, hardware) => {
	const { offset: start, byteLength: slotBytes } = slots[hardware.ota.running];
	return {
		calls: {
			byteLength: () => slotBytes,
			read: ({ offset, byteLength }) => {
				if (offset < 0 || offset + byteLength > slotBytes) throw new RangeError("read outside of the slot");
				return onFlash(hardware, () => hardware.flash.read(start + offset, byteLength));
			},
		},
	};
};

export const bootState: Simulate<"boot-state"> = (_channel, hardware) => ({
	calls: {
		isPendingVerify: () => hardware.ota.isPendingVerify,
		confirm: () => onFlash(hardware, () => hardware.ota.confirm()),
		rollBack: () => onFlash(hardware, () => hardware.ota.rollBack()),
	},
});

export const sha256: Simulate<"sha256"> = () => {
	const hash = createHash("sha256");
	return {
		posts: { write: (_detail, bytes) => void hash.update(bytes) },
		calls: { digest: () => hash.digest() },
	};
};
