/** Leads a person through the steps: each can be skipped and repeated. */

import { boardModels } from "../../device/protocol/models.js";
import { messageOf } from "../command-line/command.js";
import type { StepResult } from "./report.js";
import { type Context, type Finding, failed, type Step } from "./step.js";
import { buttonsStep } from "./steps/buttons.js";
import { chipStep } from "./steps/chip.js";
import { codecStep } from "./steps/codec.js";
import { hapticsStep } from "./steps/haptics.js";
import { lightStep } from "./steps/light.js";
import { networkStep } from "./steps/network.js";
import { ringStep } from "./steps/ring.js";
import { settingsStep } from "./steps/settings.js";
import { soundStep } from "./steps/sound.js";
import { touchStep } from "./steps/touch.js";

export const steps: readonly Step[] = [
	chipStep,
	codecStep,
	soundStep,
	ringStep,
	buttonsStep,
	hapticsStep,
	lightStep,
	touchStep,
	networkStep,
	settingsStep,
];

/**
 * @param chosen names of steps; empty: all that the model has parts for
 * @param onResult called after each step with all results so far, those to come as skipped
 */
export async function runSteps(
	context: Context,
	chosen: readonly string[],
	onResult: (results: readonly StepResult[]) => void,
): Promise<readonly StepResult[]> {
	const { person, model } = context;
	const own = steps.filter(
		({ name, part }) =>
			(part === undefined || boardModels[model].parts.includes(part)) &&
			(chosen.length === 0 || chosen.includes(name)),
	);
	const results = own.map(({ name, title }): StepResult => ({ name, title, outcome: "skipped", notes: [] }));
	for (const [index, step] of own.entries()) {
		person.tell(`\n${index + 1} of ${own.length}: ${step.title}`);
		const choice = await person.choose("Begin?", ["begin", "skip", "quit"]);
		if (choice === "quit") break;
		for (let isWanted = choice === "begin"; isWanted; ) {
			const { isPassed, notes, pins, lines } = await attempt(step, context);
			const outcome = isPassed ? "passed" : "failed";
			results[index] = {
				name: step.name,
				title: step.title,
				outcome,
				notes,
				...(pins && { pins }),
				...(lines && { lines }),
			};
			onResult(results);
			for (const note of notes) person.tell(`  ${note}`);
			person.tell(`  ${outcome}`);
			isWanted = !isPassed && (await person.choose("Go on?", ["go on", "repeat"])) === "repeat";
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
