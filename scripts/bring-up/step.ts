/** Inputs and results of bring-up steps. */

import type { Chip } from "../../device/protocol/messages.js";
import type { BoardPart, Model } from "../../device/protocol/models.js";
import type { AllPins } from "../boards/pins.js";
import type { BringUpBoard } from "./board.js";

/** Interaction with the person at the terminal. */
export interface Person {
	print(text: string): void;
	choose<const C extends readonly string[]>(question: string, choices: C): Promise<C[number]>;
	/** @returns the trimmed input; may be empty */
	prompt(question: string): Promise<string>;
	/**
	 * Shows readings until one has a result or the person presses Enter.
	 * @returns the result; undefined after Enter
	 */
	watch<T>(question: string, read: () => Promise<Reading<T>>): Promise<T | undefined>;
}

export interface Reading<T> {
	/** One line of text. */
	readonly text: string;
	readonly result?: T;
}

export interface Context {
	readonly board: Pick<BringUpBoard, "request">;
	readonly person: Person;
	readonly model: Model;
	/** Chip that the firmware of the board requires. */
	readonly chip: Chip;
	/** Pins of pins.ts. */
	readonly pins: AllPins;
}

export interface Finding {
	readonly isPassed: boolean;
	/** Sentences with measurements, faults and fixes. */
	readonly notes: readonly string[];
	/** Required values of pins.ts by name. */
	readonly pins?: Partial<Record<keyof AllPins, unknown>>;
	/** Required lines of other files. */
	readonly lines?: readonly string[];
}

export interface Step {
	/** Name for the command line and the table. */
	readonly name: string;
	readonly title: string;
	/** Part that the step requires. */
	readonly part?: BoardPart;
	readonly run: (context: Context) => Promise<Finding>;
}

/** Asks a question answered with yes or no. */
export async function isYes(person: Person, question: string): Promise<boolean> {
	return (await person.choose(question, ["yes", "no"])) === "yes";
}

export function passed(...notes: readonly string[]): Finding {
	return { isPassed: true, notes };
}

export function failed(...notes: readonly string[]): Finding {
	return { isPassed: false, notes };
}
