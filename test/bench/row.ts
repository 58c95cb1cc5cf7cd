/**
 * Benchmark results: rows with our figure and that of a reference in the same run. A figure alone would say more
 * about the machine than about the gateway.
 */

/** Upper limit of the ratio, or of our own figure. */
export interface Target {
	readonly of: "ratio" | "ours";
	readonly atMost: number;
}

export interface Row {
	readonly benchmark: string;
	readonly what: string;
	readonly unit: string;
	/** Median over the rounds, as `reference`. */
	readonly ours: number;
	/** null: no reference. */
	readonly reference: number | null;
	/** Median of the rounds' ratios: a change of the machine's load affects both sides of a round. */
	readonly ratio: number | null;
	readonly target?: Target;
	readonly note?: string;
}

/** Measures both sides, one right after the other. */
export interface Round {
	readonly ours: number;
	readonly reference: number;
}

export const ratioAtMost = (atMost: number): Target => ({ of: "ratio", atMost });
export const oursAtMost = (atMost: number): Target => ({ of: "ours", atMost });

/** Makes the rows of one benchmark. */
export class Rows {
	readonly #benchmark: string;

	constructor(benchmark: string) {
		this.#benchmark = benchmark;
	}

	compare(what: string, unit: string, rounds: readonly Round[], target?: Target, note?: string): Row {
		return {
			...this.ours(
				what,
				unit,
				rounds.map(({ ours }) => ours),
				target,
			),
			...(note && { note }),
			reference: median(rounds.map(({ reference }) => reference)),
			ratio: median(rounds.map(({ ours, reference }) => ours / reference)),
		};
	}

	/** Row of a figure without a reference. */
	ours(what: string, unit: string, values: number | readonly number[], target?: Target): Row {
		const benchmark = this.#benchmark;
		const ours = median([values].flat());
		return { benchmark, what, unit, ours, reference: null, ratio: null, ...(target && { target }) };
	}
}

export function median(values: readonly number[]): number {
	return percentile(values, 50);
}

/** @param rank 0 to 100 */
export function percentile(values: readonly number[], rank: number): number {
	const sorted = Float64Array.from(values).sort();
	const index = Math.ceil((rank / 100) * sorted.length) - 1;
	return sorted[Math.max(0, index)] ?? Number.NaN;
}

/** undefined: no target. */
export function isMet({ target, ratio, ours }: Row): boolean | undefined {
	if (!target) return undefined;
	return (target.of === "ratio" ? (ratio ?? Number.POSITIVE_INFINITY) : ours) <= target.atMost;
}

const head = ["benchmark", "what", "ours", "reference", "unit", "ratio", "target", ""];

/** Rows as lines of text with aligned columns. */
export function table(rows: readonly Row[]): string {
	const cells = rows.map((row) => [
		row.benchmark,
		row.what,
		figure(row.ours),
		row.reference === null ? "" : figure(row.reference),
		row.unit,
		row.ratio === null ? "" : `${row.ratio.toFixed(2)}×`,
		row.target ? `≤ ${row.target.atMost}${row.target.of === "ratio" ? "×" : ` ${row.unit}`}` : "",
		[verdict(row), row.note].filter(Boolean).join(" · "),
	]);
	const widths = head.map((title, column) =>
		Math.max(title.length, ...cells.map((line) => line[column]?.length ?? 0)),
	);
	const isNumber = [2, 3, 5];
	return [head, ...cells]
		.map((line) =>
			line
				.map((cell, column) =>
					isNumber.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
				)
				.join("  ")
				.trimEnd(),
		)
		.join("\n");
}

function verdict(row: Row): string {
	const met = isMet(row);
	return met === undefined ? "" : met ? "met" : "MISSED";
}

/** Formats with three significant digits. */
function figure(value: number): string {
	return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}
