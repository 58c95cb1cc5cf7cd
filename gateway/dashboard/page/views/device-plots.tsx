/** The last 24 hours of a device: connection, signal, memory and light, with its events. */

import { useMemo, useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { clock, when } from "../../../api/client/words.js";
import type { KnownPast } from "../app/details.js";
import { useIsLive, usePast, useTopic } from "../app/hooks.js";
import { markText } from "../model/health-words.js";
import { quantitiesOf, type Range } from "../model/series.js";
import { Panel } from "../parts/panel.js";
import { Plot, type PlotKind } from "../parts/plot.js";
import { type Mark, Timeline } from "../parts/timeline.js";

const kinds: readonly PlotKind[] = [
	{ title: "Signal", unit: "dBm", quantity: "rssi", range: [-90, -40] },
	{ title: "Free memory", unit: "KB", quantity: "heap", range: [0, 64] },
	{ title: "Light", unit: "", quantity: "light", range: [0, 1000] },
];

export function DevicePlots({ entry }: { entry: Entry }) {
	const known = usePast(entry.key);
	const { recorder, clock: gatewayClock } = useTopic(`record ${entry.key}`);
	const { series } = recorder.watch(entry.key);
	const isNow = useIsLive() && entry.session.connected;
	/** What is pointed at, in seconds since 1970; undefined: the latest. */
	const [at, setAt] = useState<number>();
	const { rows } = series;
	// The time of the data, so that pointing moves nothing.
	const now = useMemo(() => Math.max(gatewayClock.now() / 1000, rows.at(-1)?.time ?? 0), [rows, known]);
	const first = Math.min(rows[0]?.time ?? now, now - leastSeconds);
	const marks = marksOf(known, now).filter(({ time }) => time >= first - sameSeconds);
	// A row lies in the middle of its step, so that a mark of its first half lies before it.
	const since = Math.min(first, ...marks.map(({ time }) => time));
	const row = at === undefined ? undefined : series.nearest(at);
	const shownAt = row?.time;
	const latest = entry.state && quantitiesOf(entry.state);
	// A model without a sensor for it has no plot.
	const plots = latest ? kinds.filter(({ quantity }) => latest[quantity]) : [];
	const isWholeDay = now - since > 23.9 * 3600;
	return (
		<Panel
			title="The last 24 hours"
			look="plots"
			hint={!isWholeDay && known && `known since ${clock(since)}`}
		>
			{known && (
				<Timeline known={known} since={since} until={now} marks={marks} at={at} onAt={setAt}>
					{shownAt === undefined
						? latestText(isNow, entry.heardAt)
						: [clock(shownAt), ...marks.filter(isNear(shownAt)).map(({ text }) => text)].join(" · ")}
				</Timeline>
			)}
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

/** Shortest time shown. */
const leastSeconds = 60;

/** Half a step: marks within it belong to the chosen time. */
const sameSeconds = 150;

function isNear(seconds: number) {
	return ({ time }: Mark) => Math.abs(time - seconds) <= sameSeconds;
}

function marksOf(known: KnownPast | undefined, now: number): readonly Mark[] {
	if (!known) return [];
	return known.past.marks.map((mark) => ({
		kind: mark.kind,
		time: Math.min(now, Date.parse(mark.at) / 1000),
		text: markText(mark),
	}));
}

function latestText(isNow: boolean, heardAt: number): string {
	return isNow ? "Now" : `Nothing since ${when(heardAt)}`;
}

/** "−61 dBm", "−71 to −64 dBm", "–" */
function rangeText({ unit }: PlotKind, range: Range): string {
	if (!range) return "–";
	const [from, to] = range.map(Math.round);
	return `${from === to ? from : `${from} to ${to}`} ${unit}`.replaceAll("-", "−").trim();
}
