/**
 * Long lists, of which only what is in the window is rendered: a thousand devices cost as much as a screenful. All rows are as high
 * as the tallest that was rendered at this width; the style sheet gets that as --row-height, and --columns.
 */

import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { listAddress } from "../app/app.js";
import { useApp } from "../app/hooks.js";

interface Frame {
	readonly columns: number;
	/** CSS pixels; 0: no row is rendered yet. */
	readonly rowHeight: number;
	/** The first row to be rendered, and the one after the last. */
	readonly first: number;
	readonly end: number;
}

interface Item {
	readonly key: string;
	readonly index: number;
}

export interface ListOptions {
	readonly keys: readonly string[];
	/** Of a column with the gap after it, in rem; absent: one column. */
	readonly minWidth?: number | undefined;
	/** Whether the first item is active while none else is, so that there is a tab stop. */
	readonly isFirstActive?: boolean;
	/** Selects what can have the focus in an item, such as " a"; default: the item itself. */
	readonly focusable?: string;
}

/** Rows beyond the window on both sides, so that Tab and a quick scroll find something there. */
const rowsBeyond = 3;

/** The element with the attribute `ref` has the items as children, each with its `data-key`. */
export function useList<E extends HTMLElement>({
	keys,
	minWidth,
	isFirstActive = false,
	focusable = "",
}: ListOptions) {
	const ref = useRef<E>(null);
	const frame = useFrame(ref, minWidth);
	const { places } = useApp();
	/** At first the item that was opened from this view. */
	const [latest, setActive] = useState(() => places.get(listAddress())?.key);
	const isThere = latest !== undefined && keys.includes(latest);
	const active = isThere ? latest : isFirstActive ? keys[0] : undefined;
	const wanted = useRef<string | undefined>(undefined);
	const focus = () => {
		if (wanted.current === undefined) return;
		const selector = `[data-key="${CSS.escape(wanted.current)}"]${focusable}`;
		const item = ref.current?.querySelector<HTMLElement>(selector);
		if (!item) return;
		wanted.current = undefined;
		item.focus();
	};
	useLayoutEffect(focus);
	return {
		ref,
		...frame,
		/** The item with the keyboard's focus, or that had it last: it is rendered wherever it is. */
		active,
		seen: itemsIn(keys, frame, active),
		/** Moves the focus, also to what has to be rendered first. */
		moveTo: (key: string) => {
			setActive(key);
			wanted.current = key;
			focus();
		},
		onFocusIn: ({ target }: Event) => setActive((shown) => keyOf(target) ?? shown),
	};
}

function itemsIn(
	keys: readonly string[],
	{ columns, first, end }: Frame,
	active: string | undefined,
): readonly Item[] {
	const [from, to] = [first * columns, end * columns];
	const items = keys.slice(from, to).map((key, place) => ({ key, index: from + place }));
	const index = active === undefined ? -1 : keys.indexOf(active);
	if (active === undefined || index < 0 || (index >= from && index < to)) return items;
	const kept = { key: active, index };
	return index < from ? [kept, ...items] : [...items, kept];
}

/** Where a list lies in the window, read at most once a frame. */
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
	const [{ ask, observer }] = useState(() => {
		let isAsked = false;
		const ask = () => {
			if (isAsked) return;
			isAsked = true;
			requestAnimationFrame(() => {
				isAsked = false;
				latest.current();
			});
		};
		return { ask, observer: new ResizeObserver(ask) };
	});
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
	list.classList.toggle("natural-height", known === 0);
	const heights = Array.from(list.children, (row) => Math.round(row.getBoundingClientRect().height));
	list.classList.remove("natural-height");
	const tallest = Math.max(known, ...heights);
	if (tallest > 0) list.style.setProperty("--row-height", `${tallest}px`);
	return tallest;
}

/** CSS pixels. */
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

/** While the list is scrolled, only what comes into it is rendered. */
export class Cell extends Component<CellProps> {
	override shouldComponentUpdate({ cellKey, isActive, content }: CellProps): boolean {
		return (
			cellKey !== this.props.cellKey || isActive !== this.props.isActive || content !== this.props.content
		);
	}

	override render({ cellKey, isActive = false, content }: CellProps) {
		return content(cellKey, isActive);
	}
}
