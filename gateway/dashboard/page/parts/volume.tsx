/** A slider that is heard while it moves. */

import { useEffect, useRef, useState } from "preact/hooks";

/** Five values a second while it is dragged. */
const dragMs = 200;
/** A key is mostly pressed several times. */
const keysMs = 400;

/**
 * Paces what a slider sends: of a drag some values on its way, of keys the last one. The last one is always sent.
 *
 * @param sentEveryMs at least 200
 * @returns what is not sent yet, and what to do with the slider's input
 */
export function usePaced(send: (value: number) => void, sentEveryMs = dragMs) {
	const [waiting, setWaiting] = useState<number>();
	const pace = useRef({ isByKey: false, sentAt: 0, timer: 0, latest: waiting, send });
	pace.current.send = send;
	const sendLatest = () => {
		const { latest } = pace.current;
		window.clearTimeout(pace.current.timer);
		if (latest === undefined) return;
		Object.assign(pace.current, { latest: undefined, sentAt: performance.now() });
		setWaiting(undefined);
		pace.current.send(latest);
	};
	useEffect(() => sendLatest, []);
	return {
		waiting,
		onInput: (value: number) => {
			const { isByKey, sentAt } = pace.current;
			const waitMs = isByKey ? keysMs : Math.max(0, sentAt + sentEveryMs - performance.now());
			pace.current.latest = value;
			setWaiting(value);
			window.clearTimeout(pace.current.timer);
			pace.current.timer = window.setTimeout(sendLatest, waitMs);
		},
		onKeyDown: () => {
			pace.current.isByKey = true;
		},
		onPointerDown: () => {
			pace.current.isByKey = false;
		},
	};
}

interface VolumeProps {
	readonly label: string;
	/** 0 to 100; null: not known. */
	readonly value: number | null;
	readonly isOff: boolean;
	readonly onChange: (value: number) => void;
	/** Default: 200. */
	readonly sentEveryMs?: number;
}

/** A volume in one line. */
export function Volume({ label, value, isOff, onChange, sentEveryMs }: VolumeProps) {
	const { waiting, onInput, onKeyDown, onPointerDown } = usePaced(onChange, sentEveryMs);
	const shown = waiting ?? value;
	return (
		<div class="volume">
			<input
				type="range"
				aria-label={label}
				min={0}
				max={100}
				value={shown ?? 0}
				disabled={isOff || value === null}
				onKeyDown={onKeyDown}
				onPointerDown={onPointerDown}
				onInput={({ currentTarget }) => onInput(Number(currentTarget.value))}
			/>
			<span class="volume-value" aria-hidden>
				{shown ?? "–"}
			</span>
		</div>
	);
}
