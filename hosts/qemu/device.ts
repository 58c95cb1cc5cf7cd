/** A board in QEMU: its own parts, except for the network. */

import board from "qemu/board";
import { WiredNetwork } from "qemu/wired-network";
import type { Host } from "../../device/host.js";

const device: Host = {
	...board,
	chip: "esp32s3-qemu",
	network: { ...board.network, wifi: WiredNetwork },
};
// The linker puts the replaced objects into ROM only if they are frozen.
Object.freeze(board.network);
Object.freeze(board);

export default device;
