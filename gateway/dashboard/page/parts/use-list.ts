/** Long lists: which part is in the window, as what is outside of it need not be rendered, and the keyboard's focus in them. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Frame {
	/** CSS pixels. */
	readonly width: number;
	/** The first row to be rendered, and the one after the last. */
	readonly first: number;
	readonly end: number;
}

/** Rows beyond the window on both sides, so that Tab and a quick scroll find something there. */
const rowsBeyond = 3;

/** Where a list lies in the window, read at most once a frame. @param rowHeight CSS pixels */
export function useFrame(list: { readonly current: HTMLElement | null }, rowHeight: number): Frame {
	const [frame, setFrame] = useState<Frame>({ width: 0, first: 0, end: 0 });
	const isAsked = useRef(false);
	const measure = () => {
		isAsked.current = false;
		const element = list.current;
		if (!element) return;
		const { top, width } = element.getBoundingClientRect();
		const first = Math.max(0, Math.floor(-top / rowHeight) - rowsBeyond);
		const end = Math.max(0, Math.ceil((innerHeight - top) / rowHeight) + rowsBeyond);
		setFrame((shown) =>
			shown.width === width && shown.first === first && shown.end === end ? shown : { width, first, end },
		);
	};
	useLayoutEffect(measure);
	const latest = useRef(measure);
	latest.current = measure;
	useEffect(() => {
		const ask = () => {
			if (isAsked.current) return;
			isAsked.current = true;
			requestAnimationFrame(() => latest.current());
		};
		// Captured: the list may lie in a box that scrolls.
		addEventListener("scroll", ask, { passive: true, capture: true });
		addEventListener("resize", ask);
		return () => {
			removeEventListener("scroll", ask, { capture: true });
			removeEventListener("resize", ask);
		};
	}, []);
	return frame;
}

/**
 * Moves the focus to what may have to be rendered first.
 *
 * @param find what gets the focus; null: it is not rendered yet
 * @returns gives it the focus, now or after a rendering
 */
export function useFocusAt(find: (key: string) => HTMLElement | null): (key: string) => void {
	const wanted = useRef<string | undefined>(undefined);
	const focus = () => {
		const element = wanted.current === undefined ? null : find(wanted.current);
		if (!element) return;
		wanted.current = undefined;
		element.focus();
	};
	useLayoutEffect(focus);
	return (key) => {
		wanted.current = key;
		focus();
	};
}
