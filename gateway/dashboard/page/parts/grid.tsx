/**
 * A grid of which only what is seen is rendered: a thousand cards cost as much as a screenful. Every cell has the same
 * height; the cell that has the keyboard's focus stays, wherever the page is scrolled to.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface GridProps {
	readonly label: string;
	readonly keys: readonly string[];
	/** CSS pixels; so are minWidth and gap. */
	readonly height: number;
	/** Absent: one column. */
	readonly minWidth?: number;
	readonly gap: number;
	readonly children: (key: string, index: number) => ComponentChildren;
}

interface Frame {
	readonly width: number;
	/** How far its top is scrolled out of the window, and how much of it the window could show. */
	readonly top: number;
	readonly seen: number;
}

/** Rows beyond the window on both sides, so that Tab and a quick scroll find something there. */
const rowsBeyond = 2;

export function Grid({ label, keys, height, minWidth, gap, children }: GridProps) {
	const list = useRef<HTMLUListElement>(null);
	const frame = useFrame(list);
	const [focused, setFocused] = useState<string>();
	const columns = minWidth ? Math.max(1, Math.floor((frame.width + gap) / (minWidth + gap))) : 1;
	const width = (frame.width - gap * (columns - 1)) / columns;
	const rowHeight = height + gap;
	const rows = Math.ceil(keys.length / columns);
	const first = Math.max(0, Math.floor(frame.top / rowHeight) - rowsBeyond) * columns;
	const last = (Math.ceil((frame.top + frame.seen) / rowHeight) + rowsBeyond) * columns;
	const shown = keys.map((key, index) => ({ key, index }));
	const seen = shown.filter(({ key, index }) => (index >= first && index < last) || key === focused);
	return (
		<ul
			ref={list}
			class="grid"
			aria-label={label}
			style={{ height: `${Math.max(0, rows * rowHeight - gap)}px` }}
			onFocusIn={({ target }) => setFocused(cellOf(target))}
			onFocusOut={() => setFocused(undefined)}
		>
			{frame.width > 0 &&
				seen.map(({ key, index }) => (
					<li
						key={key}
						data-key={key}
						aria-setsize={keys.length}
						aria-posinset={index + 1}
						style={{
							width: `${width}px`,
							height: `${height}px`,
							transform: `translate(${(index % columns) * (width + gap)}px, ${Math.floor(index / columns) * rowHeight}px)`,
						}}
					>
						{children(key, index)}
					</li>
				))}
		</ul>
	);
}

function cellOf(target: EventTarget | null): string | undefined {
	const cell = target instanceof Element ? target.closest("li[data-key]") : null;
	return cell instanceof HTMLElement ? cell.dataset.key : undefined;
}

/** Where an element lies in the window, read at most once a frame. */
function useFrame(list: { readonly current: HTMLElement | null }): Frame {
	const [frame, setFrame] = useState<Frame>({ width: 0, top: 0, seen: 0 });
	const isAsked = useRef(false);
	const measure = () => {
		isAsked.current = false;
		const element = list.current;
		if (!element) return;
		const { top, width } = element.getBoundingClientRect();
		const next = { width, top: Math.max(0, -top), seen: innerHeight - Math.max(0, top) };
		setFrame((shown) =>
			shown.width === next.width && shown.top === next.top && shown.seen === next.seen ? shown : next,
		);
	};
	useLayoutEffect(measure);
	useEffect(() => {
		const ask = () => {
			if (isAsked.current) return;
			isAsked.current = true;
			requestAnimationFrame(measure);
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
