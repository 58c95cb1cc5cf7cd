/** Plots of the last 24 hours: signal, memory and light, with events. A time can be selected by pointer, touch and keyboard. */

import { useMemo, useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { clock, when } from "../../../api/client/words.js";
import type { DeviceHistory } from "../app/app.js";
import { useApp, useHistory, useIsLive } from "../app/hooks.js";
import { markText } from "../model/health-text.js";
import type { PlotKind } from "../model/plot-paths.js";
import { nearest, quantitiesOf, type Range, rowsOf } from "../model/series.js";
import { Panel } from "../parts/panel.js";
import { type Mark, Plot } from "../parts/plot.js";

const kinds: readonly PlotKind[] = [
	{ title: "Signal", unit: "dBm", quantity: "rssi", range: [-90, -40] },
	{ title: "Free memory", unit: "KB", quantity: "heap", range: [0, 64] },
	{ title: "Light", unit: "", quantity: "light", range: [0, 1000] },
];

export function DevicePlots({ entry }: { entry: Entry }) {
	const known = useHistory(entry.key);
	const { clock: gatewayClock } = useApp();
	const isNow = useIsLive() && entry.session.connected;
	/** Selected time in seconds since 1970; undefined for the latest. */
	const [at, setAt] = useState<number>();
	// Time of the data, so that the plots stay in place while a time is selected.
	const now = useMemo(() => gatewayClock.now() / 1000, [known]);
	const rows = useMemo(() => (known ? rowsOf(known.past, now) : []), [known, now]);
	const first = Math.min(rows[0]?.time ?? now, now - stepSeconds);
	const marks = marksOf(known, now).filter(({ time }) => time >= first - sameSeconds);
	// A row lies in the middle of its step, so events in the first half lie before it.
	const since = Math.min(first, ...marks.map(({ time }) => time));
	const row = at === undefined ? undefined : nearest(rows, at);
	const shownAt = row?.time;
	const near = marks.filter(({ time }) => Math.abs(time - (shownAt ?? 0)) <= sameSeconds);
	const latest = entry.state && quantitiesOf(entry.state);
	// No plot for a sensor that the model lacks.
	const plots = latest ? kinds.filter(({ quantity }) => latest[quantity]) : [];
	const shares = known?.past.presence.filter((share) => share !== null) ?? [];
	const reported = Math.round((100 * shares.reduce((sum, share) => sum + share, 0)) / (shares.length || 1));
	const isWholeDay = now - since > 23.9 * 3600;
	const steps = Math.floor((now - since) / stepSeconds);
	return (
		<Panel
			title="Last 24 hours"
			look="plots"
			hint={known && `reported ${reported}% of the time${isWholeDay ? "" : ` since ${clock(since)}`}`}
		>
			<p>
				{shownAt !== undefined
					? [clock(shownAt), ...near.map(({ text }) => text)].join(" · ")
					: isNow
						? "Now"
						: `No reports since ${when(entry.heardAt)}`}
			</p>
			<input
				type="range"
				min={0}
				max={steps}
				value={at === undefined ? steps : Math.round((at - since) / stepSeconds)}
				aria-label="Time"
				aria-valuetext={at === undefined ? "now" : clock(at)}
				onInput={({ currentTarget }) => {
					const step = Number(currentTarget.value);
					setAt(step >= steps ? undefined : since + step * stepSeconds);
				}}
				onBlur={() => setAt(undefined)}
			/>
			<div class="plot-row">
				{plots.map((kind) => (
					<figure key={kind.title}>
						<figcaption>
							<b>{kind.title}</b> <span>{rangeText(kind, (row ?? latest)?.[kind.quantity] ?? null)}</span>
						</figcaption>
						<Plot kind={kind} rows={rows} since={since} until={now} marks={marks} at={shownAt} onAt={setAt} />
					</figure>
				))}
			</div>
		</Panel>
	);
}

/** Step of the slider, and the minimum time span. */
const stepSeconds = 60;

/** Half a step of the history; events within it belong to the selected time. */
const sameSeconds = 150;

function marksOf(known: DeviceHistory | undefined, now: number): readonly Mark[] {
	if (!known) return [];
	return known.past.marks.map((mark) => ({
		kind: mark.kind,
		time: Math.min(now, Date.parse(mark.at) / 1000),
		text: markText(mark),
	}));
}

/** "−61 dBm", "−71 to −64 dBm", "–" */
function rangeText({ unit }: PlotKind, range: Range): string {
	if (!range) return "–";
	const [from, to] = range.map(Math.round);
	return `${from === to ? from : `${from} to ${to}`} ${unit}`.replaceAll("-", "−").trim();
}
