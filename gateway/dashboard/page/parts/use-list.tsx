/**
 * Virtualized lists, which render only the visible rows. All rows have the height of the tallest one rendered at this width; the style
 * sheet receives it as --row-height, and the number of columns as --columns.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { listAddress } from "../app/addresses.js";
import { useApp } from "../app/hooks.js";

interface Frame {
	readonly columns: number;
	/** CSS pixels; 0 before the first row is rendered. */
	readonly rowHeight: number;
	/** First row to render, and the one after the last. */
	readonly first: number;
	readonly end: number;
}

interface Item {
	readonly key: string;
	readonly index: number;
}

export interface ListOptions {
	readonly keys: readonly string[];
	/** Minimum width of a column with its gap, in rem; absent for one column. */
	readonly minWidth?: number | undefined;
	/** Makes the first item active if no other one is, so that the list has a tab stop. */
	readonly isFirstActive?: boolean;
}

/** Overscan rows above and below the window, for Tab and fast scrolling. */
const rowsBeyond = 3;

/** Virtualizes the children of the element with the attribute `ref`; each child has its `data-key`. */
export function useList<E extends HTMLElement>(options: ListOptions) {
	const { keys, minWidth, isFirstActive = false } = options;
	const ref = useRef<E>(null);
	const frame = useFrame(ref, minWidth);
	const { places } = useApp();
	/** Initially the item that was opened from this view. */
	const [latest, setActive] = useState(() => places.get(listAddress())?.key);
	const isListed = latest !== undefined && keys.includes(latest);
	const active = isListed ? latest : isFirstActive ? keys[0] : undefined;
	const wanted = useRef<string | undefined>(undefined);
	const focus = () => {
		if (wanted.current === undefined) return;
		const item = ref.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(wanted.current)}"]`);
		if (!item) return;
		wanted.current = undefined;
		item.focus();
	};
	useLayoutEffect(focus);
	return {
		ref,
		...frame,
		/** Item with the latest focus, which stays rendered. */
		active,
		seen: itemsIn(keys, frame, active),
		/** Moves the focus, rendering the item first if needed. */
		moveTo: (key: string) => {
			setActive(key);
			wanted.current = key;
			focus();
		},
		onFocusIn: ({ target }: Event) => setActive((shown) => keyOf(target) ?? shown),
	};
}

function itemsIn(keys: readonly string[], { columns, first, end }: Frame, active?: string): readonly Item[] {
	const [from, to] = [first * columns, end * columns];
	const items = keys.slice(from, to).map((key, place) => ({ key, index: from + place }));
	const index = active === undefined ? -1 : keys.indexOf(active);
	if (active === undefined || index < 0 || (index >= from && index < to)) return items;
	const kept = { key: active, index };
	return index < from ? [kept, ...items] : [...items, kept];
}

/** Measures the position of a list in the window, with each frame in which it moves. */
function useFrame(list: { readonly current: HTMLElement | null }, minWidth: number | undefined): Frame {
	const [frame, setFrame] = useState<Frame>({ columns: 1, rowHeight: 0, first: 0, end: 0 });
	const known = useRef({ width: 0, rowHeight: 0 });
	const measure = () => {
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
		const next = { columns, rowHeight, first, end };
		setFrame((shown) => (JSON.stringify(shown) === JSON.stringify(next) ? shown : next));
	};
	const latest = useRef(measure);
	latest.current = measure;
	// Measuring at once would change what is observed.
	const [observer] = useState(() => new ResizeObserver(() => requestAnimationFrame(() => latest.current())));
	useLayoutEffect(() => {
		measure();
		// Rows change their height with their content and the text size.
		for (const row of list.current?.children ?? []) observer.observe(row);
	});
	useEffect(() => {
		const onMoved = () => latest.current();
		// The capture phase also covers a scrolling ancestor.
		addEventListener("scroll", onMoved, { passive: true, capture: true });
		addEventListener("resize", onMoved);
		return () => {
			removeEventListener("scroll", onMoved, { capture: true });
			removeEventListener("resize", onMoved);
			observer.disconnect();
		};
	}, []);
	return frame;
}

/** Measures the tallest row and sets --row-height. @param known previous height; 0 after a change of width @returns 0 without rows */
function tallestRow(list: HTMLElement, known: number): number {
	list.classList.toggle("natural-height", known === 0);
	const heights = Array.from(list.children, (row) => Math.round(row.getBoundingClientRect().height));
	list.classList.remove("natural-height");
	const tallest = Math.max(known, ...heights);
	if (tallest > 0) list.style.setProperty("--row-height", `${tallest}px`);
	return tallest;
}

/** Root font size in CSS pixels. */
function remPx(): number {
	return Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
}

function keyOf(target: EventTarget | null): string | undefined {
	const item = target instanceof Element ? target.closest<HTMLElement>("[data-key]") : null;
	return item?.dataset.key;
}

interface CellProps {
	readonly cellKey: string;
	readonly isActive?: boolean;
	readonly content: (key: string, isActive: boolean) => ComponentChildren;
}

/** Cell that is not rendered again while the list is scrolled. */
export function Cell({ cellKey, isActive = false, content }: CellProps) {
	return useMemo(() => <>{content(cellKey, isActive)}</>, [cellKey, isActive, content]);
}
