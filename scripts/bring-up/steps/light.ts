/** Test of the ambient light sensor with a hand; searches other analog pins. */

import { boardModule } from "../hardware.js";
import { type Context, type Finding, failed, passed } from "../step.js";

/** Smallest change of 4095 caused by a hand, which changes the value by hundreds; noise changes it by tens. */
const smallestChange = 150;

export async function checkLight({ board, person, pins }: Context): Promise<Finding> {
	const pin = pins.ambientLight ?? -1;
	const taken = [pins.codec.data, pins.codec.clock, pins.haptics, pins.touch];
	const candidates = [...new Set([pin, ...boardModule.analogPins])].filter(
		(candidate) => !taken.includes(candidate),
	);
	const measure = async () => (await board.request("analog", { pins: candidates })).values;
	const bright = await watchLight("Leave the sensor in the light, then press Enter.");
	const brightAll = await measure();
	const dark = await watchLight("Cover the sensor with your hand, keep it there, and press Enter.");
	const darkAll = await measure();
	const change = Math.abs((bright ?? 0) - (dark ?? 0));
	if (change >= smallestChange) return passed(`Light ${bright}, covered ${dark} of 4095.`);
	const changes = candidates.map((candidate, index) => ({
		pin: candidate,
		change: Math.abs((brightAll[index] ?? 0) - (darkAll[index] ?? 0)),
	}));
	const largest = changes.reduce((best, next) => (next.change > best.change ? next : best), {
		pin,
		change: 0,
	});
	const same = `The value at GPIO ${pin} does not respond to a hand (light ${bright ?? "none"}, covered ${dark ?? "none"} of 4095)`;
	if (largest.pin !== pin && largest.change >= smallestChange)
		return {
			...failed(
				`${same}; that at GPIO ${largest.pin} does, by ${largest.change}. The sensor is connected there.`,
			),
			pins: { ambientLight: largest.pin },
		};
	return failed(
		`${same}, and neither does any other analog pin. Check the supply and the resistor of the sensor.`,
	);

	async function watchLight(question: string): Promise<number | undefined> {
		let last: number | undefined;
		await person.watch<never>(question, async () => {
			last = (await board.request("sensors", {})).light;
			return { text: last === undefined ? "no reading" : `light ${bar(last, 4095)} ${last} of 4095` };
		});
		return last;
	}
}

/** Formats a bar of 20 characters. */
export function bar(value: number, most: number): string {
	const filled = Math.max(0, Math.min(20, Math.round((20 * value) / most)));
	return "█".repeat(filled).padEnd(20, "·");
}
