/** SVG paths and labels of a plot, in percent of its width and height from the top left corner. */

import type { Quantities, Row } from "./series.js";

/** Quantity of a plot. */
export interface PlotKind {
	readonly title: string;
	readonly unit: string;
	readonly quantity: keyof Quantities;
	/** Minimum range of the axis. */
	readonly range: readonly [number, number];
}

export interface PlotData {
	readonly rows: readonly Row[];
	/** Seconds since 1970, like `until` and the times of rows. */
	readonly since: number;
	readonly until: number;
}

interface Point {
	readonly x: number;
	readonly least: number;
	readonly most: number;
}

/** @returns path of the maxima, band between minima and maxima (empty if they are equal), and ticks of the axis */
export function plotPaths({ quantity, range }: PlotKind, { rows, since, until }: PlotData) {
	const [low, high] = rows.reduce(
		([least, most], { [quantity]: value }) =>
			value ? [Math.min(least, value[0]), Math.max(most, value[1])] : [least, most],
		range,
	);
	const step = niceStep((high - low) / 3);
	const bottom = Math.floor(low / step) * step;
	const top = Math.ceil(high / step) * step;
	const y = (value: number) => round((100 * (top - value)) / (top - bottom));
	const x = (time: number) => round((100 * (time - since)) / (until - since));
	const runs: Point[][] = [[]];
	for (const { time, [quantity]: value } of rows) {
		if (value) runs.at(-1)?.push({ x: x(time), least: y(value[0]), most: y(value[1]) });
		else runs.push([]);
	}
	const drawn = runs.filter(({ length }) => length > 0);
	const hasBand = drawn.some((run) => run.some((point) => point.least !== point.most));
	const count = Math.round((top - bottom) / step);
	const values = Array.from({ length: count + 1 }, (_, index) => round(bottom + index * step));
	return {
		line: drawn.map(lineOf).join(""),
		band: hasBand ? drawn.map(bandOf).join("") : "",
		ticks: values.map((value) => ({ value, place: y(value) })),
	};
}

/** Draws a single point as a line of zero length, which a round cap turns into a dot. */
function lineOf(run: readonly Point[]): string {
	const points = run.map(({ x, most }) => `${x} ${most}`);
	return points.length === 1 ? `M${points[0]}h0` : `M${points.join("L")}`;
}

function bandOf(run: readonly Point[]): string {
	const there = run.map(({ x, most }) => `${x} ${most}`);
	const back = run.map(({ x, least }) => `${x} ${least}`).reverse();
	return `M${[...there, ...back].join("L")}Z`;
}

/** Candidate intervals between labels, in seconds. */
const timeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360].map((minutes) => minutes * 60);
const maxLabels = 5;

/** Round local times between `since` and `until`, in seconds since 1970. */
export function timeTicks(since: number, until: number): readonly number[] {
	const step = timeSteps.find((seconds) => (until - since) / seconds <= maxLabels) ?? 360 * 60;
	const zone = new Date(until * 1000).getTimezoneOffset() * 60;
	const first = Math.ceil((since - zone) / step) * step + zone;
	const count = Math.max(0, Math.floor((until - first) / step) + 1);
	return Array.from({ length: count }, (_, index) => first + index * step);
}

/** Smallest of 1, 2, 5, 10, 20, … that is at least `least`. */
function niceStep(least: number): number {
	const power = 10 ** Math.floor(Math.log10(least));
	return ([1, 2, 5].find((factor) => factor * power >= least) ?? 10) * power;
}

function round(value: number): number {
	return Math.round(value * 100) / 100;
}
