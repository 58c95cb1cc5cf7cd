/** A board's inputs, on the SDK's ECMA-419 classes. */

import Analog from "embedded:io/analog";
import Digital from "embedded:io/digital";
import type { AnalogInput, DigitalInput } from "../../device/host.js";

export interface PushButtonOptions {
	readonly pin: number;
	readonly onReadable: () => void;
}

/** A button between its pin and ground, pulled up inside the chip. */
export class PushButton extends Digital implements DigitalInput {
	constructor(options: PushButtonOptions) {
		super({
			pin: options.pin,
			mode: Digital.InputPullUp,
			activeLow: true,
			edge: Digital.Rising | Digital.Falling,
			onReadable: options.onReadable,
		});
	}
}

export interface LightSensorOptions {
	/** Of ADC1 (GPIO 1 to 10 on the ESP32-S3): Wi-Fi takes ADC2 for itself. */
	readonly pin: number;
}

/** A voltage from 0 to about 3.1 V as 12 raw bits; the SDK's calibrated values would end at 2.45 V. */
export class LightSensor extends Analog implements AnalogInput {
	constructor(options: LightSensorOptions) {
		super({ pin: options.pin, esp32: { calibrated: false, attenuation: 12 } });
	}
}
