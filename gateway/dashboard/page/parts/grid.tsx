/**
 * Virtualized grid. Every cell has the height of the tallest. The focused cell stays rendered while it is scrolled out of view. Arrow keys
 * move the focus between the links of cells and into adjacent grids.
 */

import type { ComponentChildren } from "preact";
import { Cell, type ListOptions, useList } from "./use-list.js";

interface GridProps extends Pick<ListOptions, "keys" | "minWidth"> {
	readonly label: string;
	/** Class. */
	readonly look?: string;
	readonly children: (key: string) => ComponentChildren;
}

export function Grid({ label, look = "", children, ...options }: GridProps) {
	const { keys } = options;
	const list = useList<HTMLUListElement>({ ...options, focusable: " a" });
	const { columns, seen, active, moveTo } = list;
	const onKeyDown = (event: KeyboardEvent) => {
		const { key, target, ctrlKey, metaKey, altKey } = event;
		const steps: Readonly<Record<string, number>> = {
			ArrowRight: 1,
			ArrowLeft: -1,
			ArrowDown: columns,
			ArrowUp: -columns,
		};
		const step = steps[key];
		const isOnLink = target instanceof HTMLAnchorElement;
		if (step === undefined || !isOnLink || ctrlKey || metaKey || altKey) return;
		event.preventDefault();
		const to = keys[keys.indexOf(active ?? "") + step];
		if (to === undefined) focusBeside(list.ref.current, step);
		else moveTo(to);
	};
	return (
		<ul
			ref={list.ref}
			class={`grid ${look}`}
			aria-label={label}
			style={{ height: `calc(${Math.ceil(keys.length / columns)} * var(--row-height))` }}
			onKeyDown={onKeyDown}
			onFocusIn={list.onFocusIn}
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
					<Cell cellKey={key} content={children} />
				</li>
			))}
		</ul>
	);
}

/** Focuses the first link of the next grid, or the last one of the previous grid. */
function focusBeside(list: Element | null, step: number): void {
	const grids = [...document.querySelectorAll("main .grid")];
	const beside = list && grids[grids.indexOf(list) + Math.sign(step)];
	[...(beside?.querySelectorAll<HTMLElement>("li > * a") ?? [])].at(step > 0 ? 0 : -1)?.focus();
}
