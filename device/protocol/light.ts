import type { CommandOf, Light } from "./messages.js";

/** Converts the value of `set_light` to the form of a state report. @returns undefined: the light is turned off */
export function lightOf(value: CommandOf<"set_light">["value"]): Light | undefined {
	if (!value) return undefined;
	const { color, effect = "solid", progress = 0 } = value;
	const hex = typeof color === "string" ? color.toLowerCase() : `#${color.map(twoDigits).join("")}`;
	return { color: hex, effect, progress: effect === "progress" ? progress : undefined };
}

function twoDigits(channel: number): string {
	return channel.toString(16).padStart(2, "0");
}
