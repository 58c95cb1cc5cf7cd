/**
 * A grid of which only what is seen is rendered: a thousand cards cost as much as a screenful. Every cell has the same
 * height; the cell that has the keyboard's focus stays, wherever the page is scrolled to. The arrows move between the links
 * of the cells, also into the grid before and after.
 */

import { Component, type ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { useFocusAt, useFrame } from "./use-list.js";

export interface GridProps {
	readonly label: string;
	readonly keys: readonly string[];
	/** CSS pixels; so are minWidth and gap. */
	readonly height: number;
	/** Absent: one column. */
	readonly minWidth?: number;
	readonly gap: number;
	/** Rendered wherever it is, until the focus is in another cell. */
	readonly initialKey?: string | undefined;
	readonly children: (key: string, index: number) => ComponentChildren;
}

export function Grid({ label, keys, height, minWidth, gap, initialKey, children }: GridProps) {
	const list = useRef<HTMLUListElement>(null);
	const rowHeight = height + gap;
	const frame = useFrame(list, rowHeight);
	const [focused, setFocused] = useState(initialKey);
	const columns = minWidth ? Math.max(1, Math.floor((frame.width + gap) / (minWidth + gap))) : 1;
	const width = (frame.width - gap * (columns - 1)) / columns;
	const rows = Math.ceil(keys.length / columns);
	const seen = windowOf(keys, frame.first * columns, frame.end * columns, focused);
	const focusAt = useFocusAt(
		(key) => list.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"] a`) ?? null,
	);
	const onKeyDown = (event: KeyboardEvent) => {
		const { key, target } = event;
		const index = keys.indexOf(cellOf(target) ?? "");
		const steps: Readonly<Record<string, number>> = {
			ArrowRight: 1,
			ArrowLeft: -1,
			ArrowDown: columns,
			ArrowUp: -columns,
		};
		const step = steps[key];
		const isOnLink = target instanceof Element && target.matches("a");
		if (step === undefined || index < 0 || !isOnLink || isWithModifier(event)) return;
		event.preventDefault();
		const to = keys[index + step];
		if (to === undefined) return focusBeside(list.current, step);
		setFocused(to);
		focusAt(to);
	};
	return (
		<ul
			ref={list}
			class="grid"
			aria-label={label}
			style={{ height: `${Math.max(0, rows * rowHeight - gap)}px` }}
			onKeyDown={onKeyDown}
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
						<Cell cellKey={key} flag={index} content={children} />
					</li>
				))}
		</ul>
	);
}

interface Seen {
	readonly key: string;
	readonly index: number;
}

/** @param focused is part of it wherever it is */
export function windowOf(
	keys: readonly string[],
	first: number,
	end: number,
	focused: string | undefined,
): readonly Seen[] {
	const seen = keys.slice(first, end).map((key, place) => ({ key, index: first + place }));
	const index = focused === undefined ? -1 : keys.indexOf(focused);
	if (focused === undefined || index < 0 || (index >= first && index < end)) return seen;
	const kept = { key: focused, index };
	return index < first ? [kept, ...seen] : [...seen, kept];
}

interface CellProps<Flag> {
	readonly cellKey: string;
	readonly flag: Flag;
	readonly content: (key: string, flag: Flag) => ComponentChildren;
}

/** While the list is scrolled, only what comes into it is rendered. */
export class Cell<Flag> extends Component<CellProps<Flag>> {
	override shouldComponentUpdate({ cellKey, flag, content }: CellProps<Flag>): boolean {
		return cellKey !== this.props.cellKey || flag !== this.props.flag || content !== this.props.content;
	}

	override render({ cellKey, flag, content }: CellProps<Flag>) {
		return content(cellKey, flag);
	}
}

export function isWithModifier({ ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
	return ctrlKey || metaKey || altKey;
}

/** The next grid begins with its first link, the one before ends with its last. */
function focusBeside(list: Element | null, step: number): void {
	const grids = [...document.querySelectorAll("main .grid")];
	const beside = list && grids[grids.indexOf(list) + Math.sign(step)];
	[...(beside?.querySelectorAll<HTMLElement>("li > * a") ?? [])].at(step > 0 ? 0 : -1)?.focus();
}

function cellOf(target: EventTarget | null): string | undefined {
	const cell = target instanceof Element ? target.closest("li[data-key]") : null;
	return cell instanceof HTMLElement ? cell.dataset.key : undefined;
}
