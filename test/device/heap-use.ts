import type { Statistics } from "../../hosts/virtual/node/machine.js";

/** Bytes in use of a device's heap, as a board counts them. */
export function usedBytes({ chunkBytesUsed, slotsUsed }: Statistics): number {
	return chunkBytesUsed + slotsUsed * 16;
}
