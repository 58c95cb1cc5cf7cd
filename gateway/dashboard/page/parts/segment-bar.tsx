/** Progress bar with a colored part for each state of devices. */

import { capital } from "../../../api/client/words.js";
import type { Segment } from "../model/rollout-segments.js";

interface SegmentBarProps {
	readonly label: string;
	readonly segments: readonly Pick<Segment, "name" | "tone" | "count">[];
	/** 0 to 100. */
	readonly percent: number;
}

export function SegmentBar({ label, segments, percent }: SegmentBarProps) {
	return (
		<div
			class="segment-bar"
			role="progressbar"
			aria-label={label}
			aria-valuenow={percent}
			aria-valuetext={segments.map(({ count, name }) => `${count.toLocaleString("en")} ${name}`).join(", ")}
		>
			{segments.map(({ name, tone, count }) => (
				<span key={name} title={capital(name)} style={{ flexGrow: count, background: `var(--${tone})` }} />
			))}
		</div>
	);
}
