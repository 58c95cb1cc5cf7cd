/** Test of clocks, codec, amplifier and speaker; locates the fault by what is audible. */

import { sampleRate } from "../../../device/peripherals/track.js";
import { type Context, type Finding, failed, isYes, passed } from "../step.js";

/** Clocks in Hz by names of pins.ts: 256 times the sample rate, two slots of 16 bits, and once per sample. */
const clocks = { masterClock: 256 * sampleRate, bitClock: 32 * sampleRate, wordSelect: sampleRate } as const;
const tolerance = 0.02;
const names = Object.keys(clocks).filter((name): name is keyof typeof clocks => name in clocks);

export async function checkSound({ board, person, pins }: Context): Promise<Finding> {
	const counted = await board.request("clocks", { pins: names.map((name) => pins.i2s[name]) });
	const wrong = names.flatMap((name, index) => {
		const hz = counted.hz[index] ?? 0;
		return Math.abs(hz / clocks[name] - 1) <= tolerance
			? []
			: [`${name} at GPIO ${pins.i2s[name]} has ${hz} Hz instead of ${clocks[name]}.`];
	});
	await board.request("sweep", { volume: 10 });
	const isHeard = await isYes(person, "A rising tone was played for a second at volume 10. Did you hear it?");
	await board.request("sweep", { volume: 40 });
	const isLouder = await isYes(
		person,
		"It was played again at volume 40. Was it louder, or audible for the first time?",
	);
	await board.request("sweep", { volume: 0 });
	const isSilent = await isYes(person, "It was played muted. Was it silent?");
	const problems = [...wrong];
	if (!isHeard && !isLouder)
		problems.push(
			wrong.length > 0
				? "No sound, since the clocks above are missing. Compare i2s in pins.ts and manifest.json with the board."
				: `No sound, although the codec responds and its clocks run. Measure the enable pin of the amplifier, GPIO ${pins.amplifier}, which is high during the tone, its supply, the data line at GPIO ${pins.i2s.dataOut}, and the speaker's two wires.`,
		);
	else if (!isLouder) problems.push("The volume has no effect: the amplifier may bypass the codec.");
	if (!isSilent)
		problems.push("Audible while muted: the amplifier is not connected to the output of this codec.");
	return problems.length > 0
		? failed(...problems)
		: passed(
				`Heard at volume 10 and 40, silent when muted; clocks ${counted.hz.map((hz) => `${hz} Hz`).join(", ")}.`,
			);
}
