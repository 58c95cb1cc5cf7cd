/** Runs the steps interactively; each can be skipped and repeated. */

import { messageOf } from "../../device/message-of.js";
import { boardModels } from "../../device/protocol/models.js";
import type { StepResult } from "./report.js";
import { type Context, type Finding, failed, type Step } from "./step.js";
import { checkButtons } from "./steps/buttons.js";
import { checkChip } from "./steps/chip.js";
import { checkCodec } from "./steps/codec.js";
import { checkMotor } from "./steps/haptics.js";
import { checkLight } from "./steps/light.js";
import { checkRing } from "./steps/ring.js";
import { checkSound } from "./steps/sound.js";
import { checkTouch } from "./steps/touch.js";

export const steps: readonly Step[] = [
	{ name: "chip", title: "Chip, flash, PSRAM and partitions", run: checkChip },
	{ name: "codec", title: "Codec (I2C)", run: checkCodec },
	{ name: "sound", title: "Amplifier and speaker", run: checkSound },
	{ name: "ring", title: "LED ring", run: checkRing },
	{ name: "buttons", title: "Buttons", run: checkButtons },
	{ name: "haptics", title: "Haptic motor", part: "haptics", run: checkMotor },
	{ name: "light", title: "Ambient light sensor", part: "ambientLight", run: checkLight },
	{ name: "touch", title: "Touch pad", part: "touch", run: checkTouch },
];

/** @param chosen names of steps; empty for all that the model has parts for @returns results, also of skipped steps */
export async function runSteps(context: Context, chosen: readonly string[]): Promise<readonly StepResult[]> {
	const { person, model } = context;
	const own = steps.filter(
		({ name, part }) =>
			(part === undefined || boardModels[model].parts.includes(part)) &&
			(chosen.length === 0 || chosen.includes(name)),
	);
	const results = own.map(({ name, title }): StepResult => ({ name, title, outcome: "skipped", notes: [] }));
	for (const [index, step] of own.entries()) {
		person.print(`\n${index + 1} of ${own.length}: ${step.title}`);
		const choice = await person.choose("Start?", ["start", "skip", "quit"]);
		if (choice === "quit") break;
		for (let isWanted = choice === "start"; isWanted; ) {
			const { isPassed, ...finding } = await attempt(step, context);
			const outcome = isPassed ? "passed" : "failed";
			results[index] = { name: step.name, title: step.title, outcome, ...finding };
			for (const note of finding.notes) person.print(`  ${note}`);
			person.print(`  ${outcome}`);
			isWanted = !isPassed && (await person.choose("Continue?", ["continue", "repeat"])) === "repeat";
		}
	}
	return results;
}

async function attempt(step: Step, context: Context): Promise<Finding> {
	try {
		return await step.run(context);
	} catch (error) {
		return failed(`${messageOf(error)}.`);
	}
}
