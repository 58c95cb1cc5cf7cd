/** Test of clocks, codec, amplifier and speaker; locates the fault by what is audible. */

import { sampleRate } from "../../../device/peripherals/track.js";
import { type Context, type Finding, failed, isYes, passed } from "../step.js";

/** Clocks in Hz by names of pins.ts: 256 times the sample rate, two slots of 16 bits, and once per sample. */
const clocks = { masterClock: 256 * sampleRate, bitClock: 32 * sampleRate, wordSelect: sampleRate } as const;
const tolerance = 0.02;
const names = Object.keys(clocks).filter((name): name is keyof typeof clocks => name in clocks);

export async function checkSound({ board, person, pins }: Context): Promise<Finding> {
	const counted = await board.ask("clocks", { pins: names.map((name) => pins.i2s[name]) });
	const wrong = names.flatMap((name, index) => {
		const hz = counted.hz[index] ?? 0;
		return Math.abs(hz / clocks[name] - 1) <= tolerance
			? []
			: [`${name} at GPIO ${pins.i2s[name]} has ${hz} Hz instead of ${clocks[name]}.`];
	});
	const quiet = await board.ask("sweep", { volume: 10 });
	if (quiet.problem)
		return failed(`Nothing can be played: ${quiet.problem}. Do the step codec first.`, ...wrong);
	const isHeard = await isYes(person, "A rising tone of a second was played at volume 10. Did you hear it?");
	await board.ask("sweep", { volume: 40 });
	const isLouder = await isYes(person, "And again at volume 40. Was it louder, or heard for the first time?");
	await board.ask("sweep", { volume: 0 });
	const isSilent = await isYes(person, "Now it was played muted. Was it silent?");
	const problems = [...wrong];
	if (!isHeard && !isLouder)
		problems.push(
			wrong.length > 0
				? "Nothing was heard, as the clocks above are missing: compare i2s in pins.ts and manifest.json with the board."
				: `Nothing was heard, though the codec answers and its clocks run: measure the amplifier's enable, GPIO ${pins.amplifier}, which is high during the tone, its supply, the data line at GPIO ${pins.i2s.dataOut}, and the speaker's two wires.`,
		);
	else if (!isLouder)
		problems.push("The volume does not change what is heard: the amplifier may be fed past the codec.");
	if (!isSilent)
		problems.push(
			"It is heard while muted: the amplifier takes its signal from another source than this codec's output.",
		);
	return problems.length > 0
		? failed(...problems)
		: passed(
				`Heard at volume 10 and 40, silent when muted; clocks ${counted.hz.map((hz) => `${hz} Hz`).join(", ")}.`,
			);
}
