/** Slider that throttles changes while it moves and always sends the last value. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

/** Interval between values while dragging. */
const dragMs = 200;
/** Debounce time of key presses. */
const keysMs = 400;

interface SliderProps {
	readonly label: string;
	/** Null if unknown. */
	readonly value: number | null;
	/** Default: 0 to 100. */
	readonly range?: readonly [min: number, max: number];
	readonly unit?: string;
	/** Renders one line with a hidden label. */
	readonly isInline?: boolean;
	readonly isOff?: boolean;
	readonly onChange: (value: number) => void;
	/** Interval between values while dragging, in ms; at least 200, the default. */
	readonly sentEveryMs?: number;
	/** Content below the slider. */
	readonly children?: ComponentChildren;
}

export function Slider(props: SliderProps) {
	const { label, value, isInline = false, isOff = false, onChange, sentEveryMs = dragMs, children } = props;
	const { range: [min, max] = [0, 100], unit = "" } = props;
	const id = useId();
	const [waiting, setWaiting] = useState<number>();
	const pace = useRef({
		isByKey: false,
		isHeld: false,
		sentAt: 0,
		timer: 0,
		latest: waiting,
		send: onChange,
	});
	pace.current.send = onChange;
	const sendLatest = () => {
		const { latest, isHeld, timer, send } = pace.current;
		window.clearTimeout(timer);
		// A report must not move the slider under the pointer.
		if (!isHeld) setWaiting(undefined);
		if (latest === undefined) return;
		Object.assign(pace.current, { latest: undefined, sentAt: performance.now() });
		send(latest);
	};
	useEffect(() => sendLatest, []);
	const release = () => {
		pace.current.isHeld = false;
		if (pace.current.latest === undefined) setWaiting(undefined);
	};
	const onInput = (latest: number) => {
		const { isByKey, sentAt, timer } = pace.current;
		const waitMs = isByKey ? keysMs : Math.max(0, sentAt + sentEveryMs - performance.now());
		window.clearTimeout(timer);
		Object.assign(pace.current, { latest, timer: window.setTimeout(sendLatest, waitMs) });
		setWaiting(latest);
	};
	const shown = waiting ?? value;
	return (
		<div class={isInline ? "volume" : "control"}>
			{!isInline && <label for={id}>{label}</label>}
			<input
				id={id}
				aria-label={isInline ? label : undefined}
				type="range"
				min={min}
				max={max}
				value={shown ?? min}
				disabled={isOff || value === null}
				onKeyDown={() => Object.assign(pace.current, { isByKey: true, isHeld: false })}
				onPointerDown={() => Object.assign(pace.current, { isByKey: false, isHeld: true })}
				onInput={({ currentTarget }) => onInput(Number(currentTarget.value))}
				onPointerUp={release}
				onChange={release}
				onBlur={() => {
					release();
					sendLatest();
				}}
			/>
			<span class="value" aria-hidden>
				{shown === null ? "–" : `${shown}${unit}`.replace("-", "−")}
			</span>
			{children}
		</div>
	);
}
