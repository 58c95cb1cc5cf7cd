/** What a device has found wrong with its own parts, and the steps of `npm run bring-up` that find out why. */

import type { StateReport } from "../../device/protocol/messages.js";

type Peripherals = StateReport["peripherals"];

export interface Fault {
	/** As the device says it. */
	readonly sentence: string;
	/** Names, as in scripts/bring-up/steps. */
	readonly steps: readonly string[];
}

export function faultsOf({ audio, ambient_light_fault, touch_fault }: Peripherals): readonly Fault[] {
	return [
		{ sentence: audio.fault, steps: ["codec", "sound"] },
		{ sentence: ambient_light_fault, steps: ["light"] },
		{ sentence: touch_fault, steps: ["touch"] },
	].flatMap(({ sentence, steps }) => (sentence === undefined ? [] : [{ sentence, steps }]));
}

/** The fault that a person should look at; not that of the light sensor, which may be in the dark. */
export function urgentFault({ audio, touch_fault }: Peripherals): string | undefined {
	return audio.fault ?? touch_fault;
}
