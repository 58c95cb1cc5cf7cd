/** Report of a bring-up: a table, and the required changes of pins.ts. */

import type { Model } from "../../device/protocol/models.js";
import { boardOf } from "../boards/build.js";
import type { Finding } from "./step.js";

type Outcome = "passed" | "failed" | "skipped";

export interface StepResult extends Omit<Finding, "isPassed"> {
	readonly name: string;
	readonly title: string;
	readonly outcome: Outcome;
}

const marks: Readonly<Record<Outcome, string>> = { passed: "✔", failed: "✘", skipped: "–" };

export function table(results: readonly StepResult[]): string {
	const width = Math.max(...results.map(({ title }) => title.length));
	return results
		.flatMap(({ title, outcome, notes }) => [
			`${marks[outcome]} ${title.padEnd(width)}  ${outcome}`,
			...(outcome === "failed" ? notes.map((note) => `    ${note}`) : []),
		])
		.join("\n");
}

/** @returns required changes with their files; empty without changes */
export function changes(results: readonly StepResult[], model: Model): string {
	const pins = results.flatMap(({ pins }) => Object.entries(pins ?? {}));
	const others = results.flatMap(({ lines = [] }) => lines);
	const own = pins.map(([name, value]) => `	${name}: ${literal(value)},`);
	return [...(own.length > 0 ? [`hosts/${boardOf(model)}/pins.ts:`, ...own] : []), ...others].join("\n");
}

/** Formats a value for pins.ts, where objects are frozen to be stored in ROM. */
function literal(value: unknown): string {
	if (typeof value !== "object" || value === null) return JSON.stringify(value);
	const fields = Object.entries(value).map(([name, field]) => `${name}: ${literal(field)}`);
	return `Object.freeze({ ${fields.join(", ")} })`;
}
