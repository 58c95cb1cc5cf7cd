/** Test of the touch pad: baseline, noise and rise by a finger, from which its threshold follows. */

import { type Context, type Finding, failed, passed } from "../step.js";
import { bar } from "./light.js";

/** Minimum ratio between the rise by a finger and the noise. */
const timesNoise = 3;

export async function checkTouch({ board, person, pins }: Context): Promise<Finding> {
	const free = await sample("Do not touch the pad; press Enter after two seconds.", 0);
	if (free.length === 0)
		return failed(
			`No reading of the pad at GPIO ${pins.touch ?? "?"}, which must be a touch channel (GPIO 1 to 14).`,
		);
	const baseline = median(free);
	const noise = (Math.max(...free) - Math.min(...free)) / baseline;
	const touched = await sample(
		"Put a finger on the pad, keep it there, and press Enter after two seconds.",
		baseline,
	);
	const rise = (median(touched) - baseline) / baseline;
	const facts = `Baseline ${baseline}, noise ${percent(noise)}, with a finger ${percent(rise)} above it.`;
	if (rise < timesNoise * noise || rise <= 0)
		return failed(
			facts,
			"A finger is not distinguishable from noise: the pad is not connected, too small, or its cover is too thick.",
		);
	const { touchThreshold = 0 } = pins;
	if (rise > touchThreshold) return passed(facts, `The threshold of ${percent(touchThreshold)} is suitable.`);
	const fitting = Math.round((rise / 2) * 1000) / 1000;
	return {
		...failed(
			facts,
			`The threshold of ${percent(touchThreshold)} is above that, so touches are not detected; half of the rise is ${percent(fitting)}.`,
		),
		pins: { touchThreshold: fitting },
	};

	async function sample(question: string, baseline: number): Promise<readonly number[]> {
		const values: number[] = [];
		await person.watch<never>(question, async () => {
			const { touch } = await board.request("sensors", {});
			if (touch !== undefined) values.push(touch);
			return {
				text:
					touch === undefined
						? "nothing measured"
						: `${bar(touch - baseline / 2, (baseline || touch) * 1.5)} ${touch}`,
			};
		});
		return values;
	}
}

function median(values: readonly number[]): number {
	return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function percent(share: number): string {
	return `${(100 * share).toFixed(1)} %`;
}
