/** Level meter of the speaker, independent of playback in the browser. */

import { useEffect, useState } from "preact/hooks";
import type { Heard } from "./speaker.js";

const windowsASecond = 40;
/** Lower end of the scale. */
const leastDecibels = -60;

/** @param gain gain of the codec as a factor */
export function LevelMeter({ sound, gain }: { sound: Heard | null; gain: number }) {
	const [peak, setPeak] = useState(0);
	useEffect(() => {
		if (!sound) return setPeak(0);
		const peaks = peaksOf(sound);
		const startedAt = performance.now();
		let frame = 0;
		const show = () => {
			setPeak(peaks[Math.floor(((performance.now() - startedAt) / 1000) * windowsASecond)] ?? 0);
			frame = requestAnimationFrame(show);
		};
		show();
		return () => cancelAnimationFrame(frame);
	}, [sound]);
	const decibels = 20 * Math.log10(peak * gain);
	const value = Math.max(0, 1 - decibels / leastDecibels);
	return <meter aria-label="Level" min={0} max={1} value={value} />;
}

function peaksOf({ samples, sampleRate }: Heard): readonly number[] {
	const length = sampleRate / windowsASecond;
	return Array.from({ length: Math.ceil(samples.length / length) }, (_, index) =>
		samples
			.subarray(index * length, (index + 1) * length)
			.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0),
	);
}
