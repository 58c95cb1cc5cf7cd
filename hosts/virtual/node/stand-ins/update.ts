/** The update slot, the boot loader's probation and SHA-256, over the virtual flash. */

import { createHash } from "node:crypto";
import { imageState } from "../boot/ota-data.js";
import { slots } from "../boot/partitions.js";
import type { Answer } from "../machine.js";
import { type FlashOwner, guarded } from "./flash-owner.js";
import { numberOf, type StandIn } from "./stand-in.js";

type UpdateOwner = Pick<FlashOwner, "flash" | "ota" | "onPowerCut">;

export function updateSlot(owner: UpdateOwner): StandIn {
	return () => {
		/** Of the writes since the last call: they are not waited for. */
		let failure: unknown;
		return {
			onPost: (_request, _detail, payload) => {
				try {
					guarded(owner, () => owner.ota.write(payload));
				} catch (error) {
					failure ??= error;
				}
			},
			onCall: (request, detail) => {
				const error = failure;
				failure = undefined;
				if (error !== undefined && request !== "close") throw error;
				return guarded(owner, () => callSlot(owner, request, detail));
			},
		};
	};
}

function callSlot({ flash, ota }: UpdateOwner, request: string, detail: unknown): Answer | undefined {
	const { offset, byteLength } = slots[ota.next];
	switch (request) {
		case "status":
			return { detail: { byteLength } };
		case "open":
			ota.begin();
			return undefined;
		case "read": {
			const start = numberOf(detail, "offset");
			const count = numberOf(detail, "byteLength");
			if (start < 0 || start + count > byteLength) throw new RangeError("outside of the slot");
			return { payload: flash.read(offset + start, count) };
		}
		case "complete":
			// As Moddable's Update: the image is verified twice.
			ota.end();
			ota.setBootPartition();
			return undefined;
		case "close":
			ota.abort();
			return undefined;
		default:
			throw new Error(`the update slot knows no "${request}"`);
	}
}

export function bootState(owner: UpdateOwner): StandIn {
	return () => ({
		onCall: (request) =>
			guarded(owner, () => {
				const { ota } = owner;
				if (request === "isPendingVerify") return { detail: ota.state === imageState.pendingVerify };
				if (request === "rollBack") return { detail: ota.markInvalid() };
				ota.markValid();
				return undefined;
			}),
	});
}

export const sha256: StandIn = () => {
	const hash = createHash("sha256");
	return {
		onPost: (_request, _detail, bytes) => {
			hash.update(bytes);
		},
		onCall: () => ({ payload: hash.digest() }),
	};
};
