/**
 * A grid of which only what is seen is rendered: a thousand devices cost as much as a screenful. Every cell has the height of
 * the tallest; the cell that has the keyboard's focus stays, wherever the page is scrolled to. The arrows move between the links
 * of the cells, also into the grid before and after.
 */

import { Component, type ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { useFocusAt, useFrame } from "./use-list.js";

export interface GridProps {
	readonly label: string;
	readonly keys: readonly string[];
	/** Of a column with the gap after it, in rem; absent: one column. */
	readonly minWidth?: number;
	/** Class. */
	readonly look?: string;
	/** Rendered wherever it is, until the focus is in another cell. */
	readonly initialKey?: string | undefined;
	readonly children: (key: string, index: number) => ComponentChildren;
}

export function Grid({ label, keys, minWidth, look = "", initialKey, children }: GridProps) {
	const list = useRef<HTMLUListElement>(null);
	const { columns, first, end } = useFrame(list, minWidth);
	const [focused, setFocused] = useState(initialKey);
	const seen = windowOf(keys, first * columns, end * columns, focused);
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
			class={`grid ${look}`}
			aria-label={label}
			style={{ height: `calc(${Math.ceil(keys.length / columns)} * var(--row-height))` }}
			onKeyDown={onKeyDown}
			onFocusIn={({ target }) => setFocused(cellOf(target))}
			onFocusOut={() => setFocused(undefined)}
		>
			{seen.map(({ key, index }) => (
				<li
					key={key}
					data-key={key}
					aria-setsize={keys.length}
					aria-posinset={index + 1}
					style={{
						transform: `translate(${100 * (index % columns)}%, calc(${Math.floor(index / columns)} * var(--row-height)))`,
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
