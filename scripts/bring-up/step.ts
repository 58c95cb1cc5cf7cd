/** What a step of bring-up is given, and what it finds. */

import type { BoardPart, Model } from "../../device/protocol/models.js";
import type { BoardPins } from "../../hosts/esp32/pins.js";
import type { BringUpBoard } from "./board.js";
import type { Target } from "./targets.js";

/** The person at the terminal. */
export interface Person {
	tell(text: string): void;
	choose<const C extends readonly string[]>(question: string, choices: C): Promise<C[number]>;
	/** @returns what was typed, without the spaces around it; may be empty */
	type(question: string, options?: { readonly isSecret: boolean }): Promise<string>;
	/**
	 * Shows what `read` reports, again and again, until it has a result or the person presses Enter.
	 * @returns undefined: Enter was pressed
	 */
	watch<T>(question: string, read: () => Promise<Reading<T>>): Promise<T | undefined>;
}

export interface Reading<T> {
	/** One line. */
	readonly text: string;
	readonly result?: T;
}

/** All that a board's pins.ts may have. */
export interface AllPins extends BoardPins {
	readonly haptics?: number;
	readonly ambientLight?: number;
	readonly touch?: number;
	/** Of the tuning there. */
	readonly touchThreshold?: number;
}

export interface Context {
	readonly board: Pick<BringUpBoard, "ask" | "started">;
	readonly person: Person;
	readonly target: Target;
	readonly model: Model;
	/** As in pins.ts. */
	readonly pins: AllPins;
}

export interface Finding {
	readonly isPassed: boolean;
	/** Sentences: what was measured, what is wrong, and what to change. */
	readonly notes: readonly string[];
	/** Values of pins.ts that this board needs, by the names there. */
	readonly pins?: Partial<Record<keyof AllPins, unknown>>;
	/** Lines of other files that this board needs. */
	readonly lines?: readonly string[];
}

export interface Step {
	/** For the command line and the table. */
	readonly name: string;
	readonly title: string;
	/** The part without which the step is left out. */
	readonly part?: BoardPart;
	readonly run: (context: Context) => Promise<Finding>;
}

/** PendingCommands a question that is answered by yes or no. */
export async function isYes(person: Person, question: string): Promise<boolean> {
	return (await person.choose(question, ["yes", "no"])) === "yes";
}

export function passed(...notes: readonly string[]): Finding {
	return { isPassed: true, notes };
}

export function failed(...notes: readonly string[]): Finding {
	return { isPassed: false, notes };
}
