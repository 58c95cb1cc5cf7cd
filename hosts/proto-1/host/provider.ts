/** Global `device` of a PROTO-1. The SDK requires this path, for `embedded:provider/builtin`. */

import { createBoard } from "board/board";
import { LightSensor, Motor } from "board/peripherals";
import { pins, tuning } from "board/pins";
import { TouchPad } from "board/touch-pad";
import type { Host } from "../../../device/host.js";

const common = createBoard({ model: "PROTO-1", pins, tuning });

const device: Host = {
	...common,
	peripheral: {
		...common.peripheral,
		haptics: class extends Motor {
			constructor() {
				super({ pin: pins.haptics });
			}
		},
		ambientLight: class extends LightSensor {
			constructor() {
				super({ pin: pins.ambientLight });
			}
		},
		touch: class extends TouchPad {
			constructor() {
				super({ pin: pins.touch, threshold: tuning.touchThreshold });
			}
		},
	},
};

export default device;
