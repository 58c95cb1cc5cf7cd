/** Global `device` of a DEV-1 in QEMU. The SDK requires this path, for `embedded:provider/builtin`. */

import { createServices } from "board/services";
import { SilentOutput } from "moddable/silent-output";
import { buttonAt, Ring, SharedPort, SilentCodec } from "qemu/peripherals";
import { WiredNetwork } from "qemu/wired-network";
import type { Host } from "../../../device/host.js";

const device: Host = {
	model: "DEV-1",
	chip: "esp32",
	...createServices(WiredNetwork),
	serial: SharedPort,
	soundBufferBytes: 40_960,
	peripheral: {
		button: { play: buttonAt(0), mute: buttonAt(1), volumeUp: buttonAt(2), volumeDown: buttonAt(3) },
		ledRing: Ring,
		audioOutput: SilentOutput,
		codec: SilentCodec,
	},
};

export default device;
