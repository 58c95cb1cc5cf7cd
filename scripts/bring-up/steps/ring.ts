/** Test of the LED ring: number of LEDs and color order. */

import { boardModels } from "../../../device/protocol/models.js";
import { type Context, type Finding, failed, isYes } from "../step.js";

const mostPixels = 64;
/** Brightness for a tenth of the full current: 64 LEDs draw at most 0.4 A. */
const dim = 25;
const colors = ["red", "green", "blue"] as const;
type Color = (typeof colors)[number];
/** Color order of a WS2812 (data sheet), the default for ledOrder in pins.ts. */
const defaultOrder = "GRB";

export async function checkRing({ board, person, pins, model }: Context): Promise<Finding> {
	const first: Partial<Record<Color, Color>> = {};
	for (const color of colors) {
		await board.request("ring", { pixels: [pixelOf(color)] });
		const seen = await person.choose("The first LED of the ring is lit. Which color is it?", [
			...colors,
			"another",
			"no LED is lit",
		]);
		if (seen === "no LED is lit")
			return failed(
				`No LED is lit. Check that DIN (not DOUT) of the ring is connected to GPIO ${pins.ledRing}, its 5 V supply, and the common ground.`,
			);
		if (seen === "another")
			return failed(
				"The first LED shows a mixed color: the LEDs are not WS2812 (but for example SK6812 RGBW).",
			);
		first[color] = seen;
	}
	await board.request("ring", { pixels: Array.from({ length: mostPixels }, () => [dim, dim, dim]) });
	const count = Number(await person.prompt("All LEDs are lit, up to 64. How many are there?"));
	const { pixels } = boardModels[model];
	for (let at = 0; at < Math.min(mostPixels, count); at += 1)
		await board.request("ring", {
			pixels: Array.from({ length: count }, (_, index) => (index === at ? [dim, dim, dim] : [0, 0, 0])),
		});
	const isRound = await isYes(person, "A light moved around the ring. Was each LED lit in turn?");
	await board.request("ring", { pixels: Array.from({ length: mostPixels }, () => [0, 0, 0]) });

	const sentOrder = pins.ledOrder ?? defaultOrder;
	const order = orderOf(first, sentOrder);
	const notes = [`${count} LEDs, colors in the order ${order ?? "unknown"}.`];
	if (!Number.isInteger(count) || count < 1) return failed("Invalid number of LEDs. Repeat the step.");
	if (!isRound) notes.push("Some LEDs stay dark: the data line is interrupted at the first of them.");
	if (count !== pixels) notes.push(`The firmware drives ${pixels} LEDs; this ring has ${count}.`);
	const isOrder = order === sentOrder;
	if (!isOrder)
		notes.push(
			order
				? `Wrong color order: this ring uses ${order}.`
				: "The answers about the colors are contradictory. Repeat the step.",
		);
	return {
		isPassed: isRound && count === pixels && isOrder,
		notes,
		...(!isOrder && order && { pins: { ledOrder: order } }),
		...(count !== pixels && { lines: [`device/protocol/models.ts: board(${count}, …) for ${model}`] }),
	};
}

function pixelOf(color: Color): number[] {
	return colors.map((part) => (part === color ? dim : 0));
}

/** @param seen seen color by requested color @param sent order of the sent colors @returns color order of the ring, such as "RGB" */
function orderOf(seen: Partial<Record<Color, Color>>, sent: string): string | undefined {
	const initial = (color: string | undefined) => color?.charAt(0).toUpperCase() ?? "";
	const order = Array.from(sent, (letter) =>
		initial(seen[colors.find((name) => initial(name) === letter) ?? "red"]),
	);
	return new Set(order).size === 3 ? order.join("") : undefined;
}
