/** Signal, memory and light over the last hour, for as long as the page has been looking. */

import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { topics } from "../app/app.js";
import { useApp, useMedia, useTopic } from "../app/hooks.js";
import type { Entry } from "../model/fleet.js";
import type { Series } from "../model/series.js";

interface PlotKind {
	readonly title: string;
	readonly unit: string;
	readonly lines: readonly {
		readonly label: string;
		readonly pick: (series: Series) => readonly (number | null)[];
	}[];
	/** Always shown, however little changes. */
	readonly range: readonly [number, number];
}

const kinds: Readonly<Record<"signal" | "heap" | "light", PlotKind>> = {
	signal: {
		title: "Signal",
		unit: "dBm",
		lines: [{ label: "RSSI", pick: ({ rssi }) => rssi }],
		range: [-90, -40],
	},
	heap: {
		title: "Memory",
		unit: "KB",
		lines: [
			{ label: "free", pick: ({ freeHeap }) => freeHeap },
			{ label: "lowest", pick: ({ lowestHeap }) => lowestHeap },
		],
		range: [0, 64],
	},
	light: {
		title: "Light",
		unit: "",
		lines: [{ label: "now", pick: ({ light }) => light }],
		range: [0, 1000],
	},
};

export function DevicePlots({ entry }: { entry: Entry }) {
	const hasLight = entry.state?.peripherals.ambient_light !== undefined;
	return (
		<section class="panel plots" aria-label="Last hour">
			<h2>Last hour</h2>
			<div class="plot-row">
				<Plot deviceKey={entry.key} kind={kinds.signal} />
				<Plot deviceKey={entry.key} kind={kinds.heap} />
				{hasLight && <Plot deviceKey={entry.key} kind={kinds.light} />}
			</div>
		</section>
	);
}

function Plot({ deviceKey, kind }: { deviceKey: string; kind: PlotKind }) {
	const { recorder } = useApp();
	useTopic(topics.record(deviceKey));
	const { series } = recorder.watch(deviceKey);
	const box = useRef<HTMLDivElement>(null);
	const plot = useRef<uPlot | null>(null);
	const [isMissing, setIsMissing] = useState(false);
	// Light or dark: a canvas does not follow it by itself.
	const isDark = useMedia("(prefers-color-scheme: dark)");
	useEffect(() => {
		const { current } = box;
		if (!current) return;
		let made: uPlot | undefined;
		let isGone = false;
		const observer = new ResizeObserver(() => made?.setSize(sizeOf(current)));
		// Half of the page's script, which the other views do without.
		import("uplot")
			.then(({ default: Plotter }) => {
				if (isGone) return;
				made = new Plotter(optionsOf(kind, current), dataOf(kind, series), current);
				plot.current = made;
				observer.observe(current);
			})
			.catch(() => setIsMissing(true));
		return () => {
			isGone = true;
			observer.disconnect();
			made?.destroy();
			plot.current = null;
		};
	}, [kind, series, isDark]);
	useEffect(() => plot.current?.setData(dataOf(kind, series)));
	return (
		<figure>
			<figcaption>
				<b>{kind.title}</b>
				{kind.lines.map(({ label, pick }, index) => (
					<span key={label} class={`line-${index}`}>
						{label} {valueText(pick(series).at(-1), kind.unit)}
					</span>
				))}
			</figcaption>
			<div ref={box} class="plot" aria-hidden="true" />
			{isMissing && (
				<p class="hint">It could not be loaded while the gateway was away; load the page again.</p>
			)}
		</figure>
	);
}

function valueText(value: number | null | undefined, unit: string): string {
	return value === null || value === undefined ? "–" : `${Math.round(value)} ${unit}`.replace("-", "−");
}

function dataOf(kind: PlotKind, series: Series): uPlot.AlignedData {
	return [series.times, ...kind.lines.map(({ pick }) => [...pick(series)])];
}

function sizeOf({ clientWidth }: Element): { width: number; height: number } {
	return { width: clientWidth, height: 130 };
}

/** Between labels, in seconds: they tell whole minutes. */
const labelSteps = [1, 2, 5, 10, 15, 30, 60].map((minutes) => minutes * 60);

function optionsOf({ lines, range }: PlotKind, box: Element): uPlot.Options {
	const style = getComputedStyle(box);
	const colour = (name: string) => style.getPropertyValue(name).trim();
	const axis: uPlot.Axis = {
		stroke: colour("--soft"),
		grid: { stroke: colour("--edge"), width: 1 },
		ticks: { show: false },
		font: "11px system-ui, sans-serif",
	};
	return {
		...sizeOf(box),
		legend: { show: false },
		cursor: { show: false },
		scales: {
			y: {
				range: { min: { soft: range[0], mode: 1, pad: 0.1 }, max: { soft: range[1], mode: 1, pad: 0.1 } },
			},
		},
		axes: [
			{ ...axis, values: (_plot, times) => times.map(clock), incrs: labelSteps, space: 60, size: 24 },
			{ ...axis, size: 38, space: 28 },
		],
		series: [
			{},
			...lines.map((_, index) => ({
				stroke: colour(index === 0 ? "--accent" : "--soft"),
				width: 1.5,
				points: { show: false },
			})),
		],
	};
}

function clock(seconds: number): string {
	return new Date(seconds * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}
