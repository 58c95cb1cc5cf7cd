/**
 * Slider that throttles changes while it moves and always sends the last value. A touch moves it relative to its value and only after a
 * horizontal travel, so that a vertical swipe scrolls the page and a tap changes nothing.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

/** Interval between values while dragging. */
const dragMs = 200;
/** Debounce time of key presses. */
const keysMs = 400;
/** Horizontal travel of a touch that starts a drag, in CSS pixels. */
const slopPx = 8;
/** Width of the thumb in the style sheet, in rem. */
const thumbRem = 1.25;

interface SliderProps {
	readonly label: string;
	/** Null if unknown. */
	readonly value: number | null;
	/** Default: 0 to 100. */
	readonly range?: readonly [min: number, max: number];
	readonly unit?: string;
	/** Renders one line with a hidden label, and the value in the thumb while it moves. */
	readonly isInline?: boolean;
	readonly isOff?: boolean;
	/** Fades the slider. */
	readonly isMuted?: boolean | undefined;
	/** Highest value that has an effect now; the track beyond it is hatched. */
	readonly limit?: number | undefined;
	readonly tooltip?: string | undefined;
	readonly onChange: (value: number) => void;
	/** Interval between values while dragging, in ms; at least 200, the default. */
	readonly sentEveryMs?: number;
	/** Content below the slider. */
	readonly children?: ComponentChildren;
}

interface Touch {
	/** Position at which the drag started, or would start. */
	readonly x: number;
	/** Value at that position. */
	readonly from: number;
	readonly state: "undecided" | "drags" | "scrolls";
	readonly value: number;
}

export function Slider(props: SliderProps) {
	const { label, value, isInline, isOff, isMuted, onChange, sentEveryMs = dragMs, children } = props;
	const { range: [min, max] = [0, 100], unit = "", limit, tooltip } = props;
	const id = useId();
	const [waiting, setWaiting] = useState<number>();
	const touch = useRef<Touch | undefined>(undefined);
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
	const move = (latest: number) => {
		const { isByKey, sentAt, timer } = pace.current;
		const waitMs = isByKey ? keysMs : Math.max(0, sentAt + sentEveryMs - performance.now());
		window.clearTimeout(timer);
		Object.assign(pace.current, { latest, timer: window.setTimeout(sendLatest, waitMs) });
		setWaiting(latest);
	};
	const shown = waiting ?? value;
	const onTouchMove = (clientX: number, input: HTMLElement) => {
		const { current } = touch;
		if (!current || current.state === "scrolls") return;
		const travel = clientX - current.x;
		if (current.state === "undecided") {
			if (Math.abs(travel) < slopPx) return;
			// The drag starts here, so that the thumb does not jump.
			touch.current = { ...current, x: clientX, state: "drags" };
			pace.current.isHeld = true;
			return;
		}
		const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
		const perPixel = (max - min) / (input.clientWidth - thumbRem * rem);
		const next = Math.round(Math.min(max, Math.max(min, current.from + travel * perPixel)));
		if (next === current.value) return;
		touch.current = { ...current, value: next };
		move(next);
	};
	const onTouchEnd = (event: TouchEvent) => {
		// Otherwise the browser emulates a click, which moves the slider.
		if (event.cancelable) event.preventDefault();
		touch.current = undefined;
		release();
	};
	return (
		<div
			data-limited={limit !== undefined}
			class={`${isInline ? "volume" : "control"} ${waiting === undefined ? (isMuted ? "muted" : "") : "moving"}`}
			title={tooltip}
			style={{
				"--at": `${((shown ?? min) - min) / (max - min)}`,
				"--limit": `${((limit ?? max) - min) / (max - min)}`,
			}}
		>
			{!isInline && <label for={id}>{label}</label>}
			<input
				id={id}
				aria-label={isInline ? label : undefined}
				type="range"
				min={min}
				max={max}
				value={shown ?? min}
				aria-valuetext={isMuted ? `${shown}, muted` : undefined}
				disabled={isOff || value === null}
				onKeyDown={() => Object.assign(pace.current, { isByKey: true, isHeld: false })}
				onPointerDown={({ pointerType, clientX }) => {
					const isTouch = pointerType === "touch";
					const from = shown ?? min;
					touch.current = isTouch ? { x: clientX, from, state: "undecided", value: from } : undefined;
					Object.assign(pace.current, { isByKey: false, isHeld: !isTouch });
				}}
				onPointerMove={({ clientX, currentTarget }) => onTouchMove(clientX, currentTarget)}
				onInput={({ currentTarget }) => {
					// The browser moves the thumb to the finger.
					if (touch.current) currentTarget.value = `${touch.current.value}`;
					else move(Number(currentTarget.value));
				}}
				onPointerUp={release}
				onPointerCancel={() => {
					if (touch.current) touch.current = { ...touch.current, state: "scrolls" };
				}}
				onTouchEnd={onTouchEnd}
				onTouchCancel={onTouchEnd}
				onChange={release}
				onBlur={() => {
					release();
					sendLatest();
				}}
			/>
			<span class="value" aria-hidden>
				{isMuted && waiting === undefined
					? "Muted"
					: shown === null
						? "–"
						: `${shown}${unit}`.replace("-", "−")}
			</span>
			{children}
		</div>
	);
}
