/** Virtualized grid. Every cell has the height of the tallest. The focused cell stays rendered while it is scrolled out of view. */

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
	const { ref, columns, seen, onFocusIn } = useList<HTMLUListElement>(options);
	return (
		<ul
			ref={ref}
			class={`grid ${look}`}
			aria-label={label}
			style={{ height: `calc(${Math.ceil(keys.length / columns)} * var(--row-height))` }}
			onFocusIn={onFocusIn}
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
