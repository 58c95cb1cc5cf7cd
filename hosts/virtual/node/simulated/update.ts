/** Parts for updates on the virtual flash: inactive slot, running image, boot state and SHA-256. */

import { createHash } from "node:crypto";
import { messageOf } from "../../../../device/message-of.js";
import { PowerCut } from "../boot/flash.js";
import { slots } from "../boot/partitions.js";
import { type Hardware, type Opened, onFlash, type Simulate, type Simulated } from "./hardware.js";

export function updateSlot(
	{ send }: Pick<Opened<"update-slot">, "send">,
	hardware: Pick<Hardware, "ota" | "onPowerCut">,
): Simulated<"update-slot"> {
	const { ota } = hardware;
	/** First error of a write since the last call, since the firmware does not wait for writes. */
	let failure: unknown;
	const call = <T>(action: () => T): T => {
		const previous = failure;
		failure = undefined;
		if (previous !== undefined) throw previous;
		return onFlash(hardware, action);
	};
	return {
		write: (_detail, bytes) => {
			try {
				onFlash(hardware, () => ota.write(bytes));
			} catch (error) {
				failure ??= error;
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
				if (!(error instanceof PowerCut)) send("completed", messageOf(error));
			}
		},
		byteLength: () => call(() => slots[ota.next].byteLength),
		open: () => call(() => ota.begin()),
		close: () => {
			failure = undefined;
			ota.end();
		},
	};
}

export const runningImage: Simulate<"running-image"> = (_channel, hardware) => {
	const { offset: start, byteLength: slotBytes } = slots[hardware.ota.running];
	return {
		byteLength: () => slotBytes,
		read: ({ offset, byteLength }) => {
			if (offset < 0 || offset + byteLength > slotBytes) throw new RangeError("read outside of the slot");
			return onFlash(hardware, () => hardware.flash.read(start + offset, byteLength));
		},
	};
};

export const bootState: Simulate<"boot-state"> = (_channel, hardware) => ({
	isPendingVerify: () => hardware.ota.isPendingVerify,
	confirm: () => onFlash(hardware, () => hardware.ota.confirm()),
	rollBack: () => onFlash(hardware, () => hardware.ota.rollBack()),
});

export const sha256: Simulate<"sha256"> = () => {
	const hash = createHash("sha256");
	return {
		write: (_detail, bytes) => void hash.update(bytes),
		digest: () => hash.digest(),
	};
};
