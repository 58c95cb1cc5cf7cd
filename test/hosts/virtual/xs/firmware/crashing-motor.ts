/** Replacement of peripherals/haptics: a motor driver that crashes a second after the start. */

import Timer from "timer";

export class Haptics {
	readonly intensity = 0;

	constructor() {
		Timer.set(() => {
			throw new Error("the motor's driver crashes");
		}, 1_000);
	}

	pulse(): void {}
}
