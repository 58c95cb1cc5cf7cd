/** The haptic motor's output: ECMA-419 `embedded:io/pwm` with the ten bits of Moddable's ESP32 driver. */

import type { PulseWidth } from "../../../device/host.js";
import Channel from "./channel.js";

export default class HapticOutput implements PulseWidth {
	readonly #channel = new Channel("haptics", {}, () => {});

	get resolution(): number {
		return 10;
	}

	write(value: number): void {
		if (value < 0 || value > 1023) throw new RangeError("invalid value");
		this.#channel.post("write", value);
	}

	close(): void {
		this.#channel.close();
	}
}
