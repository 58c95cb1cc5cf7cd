/** Test of the haptic motor at three strengths. */

import { type Context, type Finding, failed, isYes, passed } from "../step.js";

const strengths = [25, 50, 100];

export async function checkMotor({ board, person, pins }: Context): Promise<Finding> {
	const felt: number[] = [];
	for (const percent of strengths) {
		await board.request("motor", { percent });
		if (await isYes(person, `The motor ran for a second at ${percent} %. Did you feel it?`))
			felt.push(percent);
	}
	if (felt.length === strengths.length) return passed("Felt at 25, 50 and 100 %.");
	if (felt.length > 0)
		return passed(
			`Felt at ${felt.join(" and ")} %. It does not start below that, which is normal for a coin motor.`,
		);
	return failed(
		`The motor does not run at 100 %. Check the gate of its transistor at GPIO ${pins.haptics ?? "?"}, its supply, and its two wires.`,
	);
}
