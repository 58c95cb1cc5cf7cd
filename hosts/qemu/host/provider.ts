/** The global `device` of a DEV-1 in QEMU. The SDK wants it at this path, as `embedded:provider/builtin`. */

import { createServices } from "board/services";
import { Button, Ring, SilentCodec, SilentOutput } from "qemu/peripherals";
import { WiredNetwork } from "qemu/wired-network";
import type { Host } from "../../../device/host.js";

const device: Host = {
	model: "DEV-1",
	chip: "esp32",
	...createServices(WiredNetwork),
	peripheral: {
		button: { play: Button, mute: Button, volumeUp: Button, volumeDown: Button },
		ledRing: Ring,
		audioOutput: SilentOutput,
		codec: SilentCodec,
	},
};

export default device;
