import type { Statistics } from "../../hosts/virtual/node/machine.js";

/** Bytes of a device's heap in use, as a board counts them. */
export function usedBytes({ chunkBytesUsed, slotsUsed }: Statistics): number {
	return chunkBytesUsed + slotsUsed * 16;
}
