/** Applies JSON input lines to a board: buttons, light, touch, Wi-Fi. */

import { buttonNames } from "../../../device/host.js";
import {
	boolean,
	describeProblem,
	findProblem,
	type Infer,
	integer,
	matches,
	object,
	oneOf,
} from "../../../device/protocol/schema.js";
import type { Board } from "./board.js";

const inputs = [
	object({ button: oneOf(...buttonNames), pressed: boolean() }),
	object({ light: integer(0, 4095) }),
	object({ touch: boolean() }),
	object({ wifi: boolean() }),
	object({ rssi: integer(-100, 0) }),
] as const;
const [buttonInput, lightInput, touchInput, wifiInput, rssiInput] = inputs;

export type BoardInput = Infer<(typeof inputs)[number]>;

export const inputExamples = `{"button":"play","pressed":true}  {"light":2000}  {"touch":true}  {"wifi":false}  {"rssi":-70}`;

/** @throws Error that describes the problem; the board is then unchanged */
export function applyInput(board: Board, line: string): void {
	let input: unknown;
	try {
		input = JSON.parse(line);
	} catch {
		throw new Error(`Invalid JSON. Examples: ${inputExamples}`);
	}
	if (matches(buttonInput, input)) board.setButton(input.button, input.pressed);
	else if (matches(lightInput, input)) board.light = input.light;
	else if (matches(touchInput, input)) board.isTouched = input.touch;
	else if (matches(wifiInput, input)) board.accessPoints = input.wifi ? [{ ssid: "virtual", rssi: -48 }] : [];
	else if (matches(rssiInput, input)) board.accessPoints = [{ ssid: "virtual", rssi: input.rssi }];
	else throw new Error(`${problemOf(input)}. Examples: ${inputExamples}`);
}

/** Describes the problem relative to the input kind with the same first field. */
function problemOf(input: unknown): string {
	const nearest = inputs.find((schema) => {
		const name = Object.keys(schema.fields)[0];
		return typeof input === "object" && input !== null && name !== undefined && name in input;
	});
	return nearest ? describeProblem(findProblem(nearest, input)) : "Unknown input";
}
