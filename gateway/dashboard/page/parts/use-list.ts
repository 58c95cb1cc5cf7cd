/** Long lists: which part is in the window, as what is outside of it need not be rendered, and the keyboard's focus in them. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Frame {
	readonly columns: number;
	/** CSS pixels; 0: no row is rendered yet. */
	readonly rowHeight: number;
	/** The first row to be rendered, and the one after the last. */
	readonly first: number;
	readonly end: number;
}

/** Rows beyond the window on both sides, so that Tab and a quick scroll find something there. */
const rowsBeyond = 3;

/**
 * Where a list lies in the window, read at most once a frame. All rows are as high as the tallest that was rendered at this
 * width. The style sheet gets that as --row-height, and --columns.
 *
 * @param minWidth of a column, in rem; undefined: one column
 */
export function useFrame(list: { readonly current: HTMLElement | null }, minWidth?: number): Frame {
	const [frame, setFrame] = useState<Frame>({ columns: 1, rowHeight: 0, first: 0, end: 0 });
	const isAsked = useRef(false);
	const known = useRef({ width: 0, rowHeight: 0 });
	const measure = () => {
		isAsked.current = false;
		const element = list.current;
		if (!element) return;
		const { top, width } = element.getBoundingClientRect();
		const columns = minWidth === undefined ? 1 : Math.max(1, Math.floor(width / remPx() / minWidth));
		element.style.setProperty("--columns", `${columns}`);
		const rowHeight = tallestRow(element, width === known.current.width ? known.current.rowHeight : 0);
		known.current = { width, rowHeight };
		const rowsTo = (y: number) => (rowHeight === 0 ? 0 : (y - top) / rowHeight);
		const first = Math.max(0, Math.floor(rowsTo(0)) - rowsBeyond);
		const end = Math.max(0, Math.ceil(rowsTo(innerHeight)) + rowsBeyond);
		setFrame((shown) =>
			shown.columns === columns && shown.rowHeight === rowHeight && shown.first === first && shown.end === end
				? shown
				: { columns, rowHeight, first, end },
		);
	};
	const latest = useRef(measure);
	latest.current = measure;
	const [ask] = useState(() => () => {
		if (isAsked.current) return;
		isAsked.current = true;
		requestAnimationFrame(() => latest.current());
	});
	const [observer] = useState(() => new ResizeObserver(ask));
	useLayoutEffect(() => {
		measure();
		// What is said in a row changes, and so does the size of its text.
		for (const row of list.current?.children ?? []) observer.observe(row);
	});
	useEffect(() => {
		// Captured: the list may lie in a box that scrolls.
		addEventListener("scroll", ask, { passive: true, capture: true });
		addEventListener("resize", ask);
		return () => {
			removeEventListener("scroll", ask, { capture: true });
			removeEventListener("resize", ask);
			observer.disconnect();
		};
	}, []);
	return frame;
}

/** Also sets --row-height. @param known of rows that were rendered before; 0: forgotten @returns 0: there was no row yet */
function tallestRow(list: HTMLElement, known: number): number {
	list.classList.toggle("measured-anew", known === 0);
	const heights = Array.from(list.children, (row) => Math.round(row.getBoundingClientRect().height));
	list.classList.remove("measured-anew");
	const tallest = Math.max(known, ...heights);
	if (tallest > 0) list.style.setProperty("--row-height", `${tallest}px`);
	return tallest;
}

/** CSS pixels. */
function remPx(): number {
	return Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
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
