/** Button of a board, pressed while it is held by pointer or keyboard. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface HoldButtonProps {
	/** State of the board; another page may hold the button too. */
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
		// Suppresses the click and scrolling.
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
				// Click of assistive technology, without pointer or key.
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
