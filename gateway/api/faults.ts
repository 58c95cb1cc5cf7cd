/** Hardware faults in reports, and the steps of `npm run bring-up` that diagnose them. */

import type { StateReport } from "../../device/protocol/messages.js";

type Peripherals = StateReport["peripherals"];

export interface Fault {
	readonly title: string;
	/** First step of a person without tools. */
	readonly advice: string;
	/** Description by the device. */
	readonly sentence: string;
	/** Names of steps in scripts/bring-up/steps. */
	readonly steps: readonly string[];
}

export function faultsOf({ audio, ambient_light_fault, touch_fault }: Peripherals): readonly Fault[] {
	return [
		{ title: "Speaker fault", advice: replug, sentence: audio.fault, steps: ["codec", "sound"] },
		{ title: "Light sensor fault", advice: uncover, sentence: ambient_light_fault, steps: ["light"] },
		{ title: "Touch fault", advice: replug, sentence: touch_fault, steps: ["touch"] },
	].flatMap(({ sentence, ...fault }) => (sentence === undefined ? [] : [{ ...fault, sentence }]));
}

const replug = "Disconnect the power for 10 seconds, and connect it again.";
const uncover = "Make sure that nothing covers the sensor.";

/** Returns the fault that needs attention. Excludes the light sensor, whose fault may be darkness. */
export function urgentFault({ audio, touch_fault }: Peripherals): string | undefined {
	return audio.fault ?? touch_fault;
}
