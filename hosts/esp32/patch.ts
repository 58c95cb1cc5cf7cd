/** Native patch decoder (board-patch.c), which reads the running firmware directly. */

import type { PatchDecoder as Interface, PatchDecoderOptions } from "../../device/host.js";

export class PatchDecoder extends Native("xs_board_patch_destructor") implements Interface {
	/** @throws RangeError if `sourceBytes` exceeds the running partition */
	constructor({ sourceBytes, resultBytes }: PatchDecoderOptions) {
		super();
		native("xs_board_patch").call(this, sourceBytes, resultBytes);
	}

	decode(piece: Uint8Array, input: Uint8Array, offset: number): number {
		return native("xs_board_patch_decode").call(this, piece, input, offset);
	}
}
