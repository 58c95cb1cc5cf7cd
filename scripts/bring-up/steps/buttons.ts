/** Test of the four buttons: detects their pins and stuck buttons. */

import { type ButtonName, buttonNames } from "../../../device/host.js";
import { boardModule } from "../hardware.js";
import type { Context, Finding } from "../step.js";

const words: Readonly<Record<ButtonName, string>> = {
	play: "play",
	mute: "mute",
	volumeUp: "volume +",
	volumeDown: "volume −",
};

export async function checkButtons({ board, person, pins }: Context): Promise<Finding> {
	const own = Object.values(pins.button);
	const outputs = [
		pins.ledRing,
		pins.amplifier,
		pins.haptics,
		...Object.values(pins.i2s),
		pins.codec.data,
		pins.codec.clock,
	];
	const watched = [...new Set([...own, ...boardModule.freePins.filter((pin) => !outputs.includes(pin))])];
	const low = async () => (await board.request("levels", { pins: watched })).low;
	const notes: string[] = [];
	const found: Record<ButtonName, number> = { ...pins.button };
	let isPassed = true;
	const idle = await low();
	for (const name of buttonNames)
		if (idle.includes(pins.button[name])) {
			isPassed = false;
			notes.push(
				`${words[name]}, GPIO ${pins.button[name]}, reads as pressed while it is released: the button is stuck, or this is not its pin.`,
			);
		}
	for (const name of buttonNames) {
		const pressed = await person.watch(
			`Press ${words[name]} and hold it (press Enter if nothing happens).`,
			async () => {
				const changed = (await low()).filter((pin) => !idle.includes(pin));
				return {
					text: `low: ${changed.map((pin) => `GPIO ${pin}`).join(", ") || "none"}`,
					...(changed[0] !== undefined && { result: changed[0] }),
				};
			},
		);
		if (pressed === undefined) {
			isPassed = false;
			notes.push(`${words[name]} does not pull any pin to ground.`);
			continue;
		}
		found[name] = pressed;
		const isExpectedPin = pressed === pins.button[name];
		isPassed &&= isExpectedPin;
		notes.push(
			`${words[name]} is at GPIO ${pressed}${isExpectedPin ? "" : `, not at ${pins.button[name]}`}.`,
		);
		const released = await person.watch(
			`Release ${words[name]} (press Enter once it is released).`,
			async () => {
				const isLow = (await low()).includes(pressed);
				return { text: isLow ? "still low" : "released", ...(!isLow && { result: true }) };
			},
		);
		if (released) continue;
		isPassed = false;
		notes.push(`${words[name]}, GPIO ${pressed}, stays low after its release: the button is stuck.`);
	}
	const isMoved = buttonNames.some((name) => found[name] !== pins.button[name]);
	return { isPassed, notes, ...(isMoved && { pins: { button: found } }) };
}
