/** Items as rows of one height, of which only what is seen is rendered. */

import type { ComponentChildren } from "preact";
import { Grid } from "./grid.js";

interface RowsProps<T> {
	readonly label: string;
	readonly items: readonly T[];
	readonly keyOf: (item: T) => string;
	/** Classes. */
	readonly look?: string;
	readonly children: (item: T) => ComponentChildren;
}

export function Rows<T>({ label, items, keyOf, look = "", children }: RowsProps<T>) {
	const byKey = new Map(items.map((item) => [keyOf(item), item]));
	return (
		<Grid label={label} keys={[...byKey.keys()]}>
			{(key) => {
				const item = byKey.get(key);
				return item && <div class={`row ${look}`}>{children(item)}</div>;
			}}
		</Grid>
	);
}
