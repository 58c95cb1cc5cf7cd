/** Hardware faults in reports, and the steps of `npm run bring-up` that diagnose them. */

import type { StateReport } from "../../device/protocol/messages.js";

type Peripherals = StateReport["peripherals"];

export interface Fault {
	/** Description by the device. */
	readonly sentence: string;
	/** Names of steps in scripts/bring-up/steps. */
	readonly steps: readonly string[];
}

export function faultsOf({ audio, ambient_light_fault, touch_fault }: Peripherals): readonly Fault[] {
	return [
		{ sentence: audio.fault, steps: ["codec", "sound"] },
		{ sentence: ambient_light_fault, steps: ["light"] },
		{ sentence: touch_fault, steps: ["touch"] },
	].flatMap(({ sentence, steps }) => (sentence === undefined ? [] : [{ sentence, steps }]));
}

/** Returns the fault that needs attention. Excludes the light sensor, whose fault may be darkness. */
export function urgentFault({ audio, touch_fault }: Peripherals): string | undefined {
	return audio.fault ?? touch_fault;
}
