/** Plot of one quantity over time: a line, with a band between minimum and maximum, and gaps without values. */

import { useMemo } from "preact/hooks";
import { clock } from "../../../api/client/words.js";
import type { PastMark } from "../../../api/device.js";
import { type PlotData, type PlotKind, plotPaths, timeTicks } from "../model/plot-paths.js";

export interface Mark {
	readonly kind: PastMark["kind"];
	/** Seconds since 1970. */
	readonly time: number;
	readonly text: string;
}

interface PlotProps extends PlotData {
	readonly kind: PlotKind;
	readonly marks: readonly Mark[];
	/** Time under the pointer; undefined without a pointer. */
	readonly at: number | undefined;
	readonly onAt: (at: number | undefined) => void;
}

export function Plot({ kind, rows, since, until, marks, at, onAt }: PlotProps) {
	const shape = useMemo(() => plotPaths(kind, { rows, since, until }), [kind, rows, since, until]);
	const x = (time: number) => (100 * (time - since)) / (until - since);
	const point = (event: PointerEvent) => {
		if (!(event.currentTarget instanceof Element)) return;
		const { left, width } = event.currentTarget.getBoundingClientRect();
		onAt(since + Math.min(1, Math.max(0, (event.clientX - left) / width)) * (until - since));
	};
	return (
		<div class="plot" aria-hidden="true">
			<svg
				viewBox="0 0 100 100"
				preserveAspectRatio="none"
				aria-hidden="true"
				onPointerMove={point}
				onPointerDown={point}
				onPointerLeave={() => onAt(undefined)}
			>
				{shape.ticks.map(({ place, value }) => (
					<path key={value} d={`M0 ${place}H100`} />
				))}
				<path class="plot-band" d={shape.band} />
				<path class="plot-line" d={shape.line} />
				{marks.map(({ time, kind, text }) => (
					<path key={`${time} ${text}`} class={`plot-mark ${kind}`} d={`M${x(time)} 0V100`} />
				))}
				{at !== undefined && <path class="plot-at" d={`M${x(at)} 0V100`} />}
			</svg>
			{shape.ticks.map(({ place, value }) => (
				<span key={value} class="plot-value" style={{ insetBlockStart: `${place}%` }}>
					{String(value).replace("-", "−")}
				</span>
			))}
			{timeTicks(since, until).map((time) => (
				<span key={time} class="plot-time" style={{ insetInlineStart: `min(${x(time)}%, 100% - 1.25rem)` }}>
					{clock(time)}
				</span>
			))}
		</div>
	);
}
