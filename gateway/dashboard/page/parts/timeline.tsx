/** When a device was connected, and its events; a time can be chosen by pointer, touch and keyboard. */

import type { ComponentChildren } from "preact";
import { clock } from "../../../api/client/words.js";
import type { PastMark } from "../../../api/device.js";
import type { KnownPast } from "../app/details.js";

export interface Mark {
	readonly kind: PastMark["kind"];
	/** Seconds since 1970. */
	readonly time: number;
	readonly text: string;
}

interface TimelineProps {
	readonly known: KnownPast;
	/** Seconds since 1970, as are until and at. */
	readonly since: number;
	readonly until: number;
	readonly marks: readonly Mark[];
	/** Undefined: the latest. */
	readonly at: number | undefined;
	readonly onAt: (at: number | undefined) => void;
	/** Describes the chosen time. */
	readonly children: ComponentChildren;
}

const stepSeconds = 60;
/** Width of a mark, of the whole. */
const markShare = 1 / 300;

export function Timeline({ known, since, until, marks, at, onAt, children }: TimelineProps) {
	const span = Math.max(1, until - since);
	const { from: begin, presence, stepSeconds: width } = known.past;
	const start = Date.parse(begin) / 1000 - since;
	const shares = presence.filter((share) => share !== null);
	const share = shares.reduce((sum, one) => sum + one, 0) / Math.max(1, shares.length);
	const steps = Math.floor(span / stepSeconds);
	return (
		<div class="timeline">
			<p class="timeline-text">
				<span>{children}</span>
				<span class="hint">reported {Math.round(share * 100)} % of the time</span>
			</p>
			<div class="timeline-strip">
				<svg viewBox={`0 0 ${span} 1`} preserveAspectRatio="none" aria-hidden="true">
					{presence.map((one, step) => {
						const from = Math.max(0, start + step * width);
						const to = Math.min(span, start + (step + 1) * width);
						if (one === null || one === 0 || to <= from) return null;
						return (
							<rect key={step} x={from} width={to - from} height="1" style={{ opacity: 0.25 + 0.75 * one }} />
						);
					})}
					{marks.map(({ time, kind, text }) => (
						<rect
							key={`${time} ${text}`}
							class={kind}
							x={Math.min(Math.max(0, time - since), span * (1 - markShare))}
							width={span * markShare}
							height="1"
						/>
					))}
				</svg>
				<input
					type="range"
					min={0}
					max={steps}
					value={at === undefined ? steps : Math.round((at - since) / stepSeconds)}
					aria-label="Time"
					aria-valuetext={at === undefined ? "now" : clock(at)}
					onInput={({ currentTarget }) => {
						const step = Number(currentTarget.value);
						onAt(step >= steps ? undefined : since + step * stepSeconds);
					}}
					onBlur={() => onAt(undefined)}
				/>
			</div>
		</div>
	);
}
