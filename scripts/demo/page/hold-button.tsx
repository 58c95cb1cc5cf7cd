/** A button of a board: pressed for as long as it is held, by pointer or keyboard. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface HoldButtonProps {
	/** As the board has it: another page may hold it, too. */
	readonly isPressed: boolean;
	readonly onChange: (isPressed: boolean) => void;
	readonly children: ComponentChildren;
}

export function HoldButton({ isPressed, onChange, children }: HoldButtonProps) {
	const isHeld = useRef(false);
	const hold = (isNow: boolean) => {
		if (isHeld.current === isNow) return;
		isHeld.current = isNow;
		onChange(isNow);
	};
	const latest = useRef(hold);
	latest.current = hold;
	useEffect(() => () => latest.current(false), []);
	const onKey = (event: KeyboardEvent) => {
		if (event.key !== " " && event.key !== "Enter") return;
		// The key neither clicks nor scrolls.
		event.preventDefault();
		hold(event.type === "keydown");
	};
	return (
		<button
			type="button"
			class="hold"
			aria-pressed={isPressed}
			onPointerDown={(event) => {
				if (event.button !== 0) return;
				event.currentTarget.setPointerCapture(event.pointerId);
				hold(true);
			}}
			onLostPointerCapture={() => hold(false)}
			onKeyDown={onKey}
			onKeyUp={onKey}
			onBlur={() => hold(false)}
			onClick={({ detail }) => {
				// A click of assistive technology, without a pointer or a key.
				if (detail !== 0) return;
				hold(true);
				hold(false);
			}}
			onContextMenu={(event) => event.preventDefault()}
		>
			{children}
		</button>
	);
}
