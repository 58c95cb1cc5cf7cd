/**
 * A table of which only what is seen is rendered, as an ARIA grid: the arrows move between rows, Enter opens one, Space
 * selects it, and letters begin a search. Only the row of the keyboard has tab stops, or Tab would take thousands of steps.
 */

import type { ComponentChildren } from "preact";
import { Cell, type ListOptions, useList } from "./use-list.js";

export interface Column<Id extends string> {
	readonly id: Id;
	readonly title: string;
}

interface TableProps<Id extends string> extends Pick<ListOptions, "keys" | "initialKey"> {
	readonly label: string;
	readonly columns: readonly Column<Id>[];
	readonly sort: Id;
	readonly isDescending: boolean;
	readonly onSort: (id: Id) => void;
	readonly isSelected: (key: string) => boolean;
	/** @param isRange with all between it and the one before */
	readonly onSelect: (key: string, isRange: boolean) => void;
	readonly onOpen: (key: string) => void;
	/** A letter was typed, which the element that now gets the focus receives. */
	readonly onType: () => void;
	/** The cells of a row; what can have the focus in them has `tabIndex` 0 only in the active row. */
	readonly children: (key: string, isActive: boolean) => ComponentChildren;
}

export function Table<Id extends string>(props: TableProps<Id>) {
	const { label, columns, keys, initialKey, isSelected, onSelect, onOpen, onType, children } = props;
	const list = useList<HTMLTableSectionElement>({ keys, initialKey, isFirstActive: true });
	const { active, rowHeight } = list;
	const onKeyDown = (event: KeyboardEvent) => {
		const { key, target, shiftKey, ctrlKey, metaKey, altKey } = event;
		if (active === undefined || ctrlKey || metaKey || altKey) return;
		const index = keys.indexOf(active);
		const page = Math.max(1, Math.floor(innerHeight / rowHeight) - 4);
		const moves: Readonly<Record<string, number>> = {
			ArrowDown: index + 1,
			ArrowUp: index - 1,
			PageDown: index + page,
			PageUp: index - page,
			Home: 0,
			End: keys.length - 1,
		};
		const to = moves[key];
		if (to !== undefined) list.moveTo(keys[Math.max(0, Math.min(keys.length - 1, to))] ?? active);
		else if (!(target instanceof HTMLTableRowElement)) return;
		else if (key === "Enter") onOpen(active);
		else if (key === " ") onSelect(active, shiftKey);
		else if (key.length === 1) return onType();
		else return;
		event.preventDefault();
	};
	return (
		<table
			// biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: ARIA calls a table with arrow keys a grid.
			role="grid"
			class="table"
			aria-label={label}
			aria-rowcount={keys.length + 1}
			aria-colcount={columns.length + 2}
			aria-multiselectable
		>
			<Head {...props} />
			<tbody
				ref={list.ref}
				class="table-body"
				style={{ height: `calc(${keys.length} * var(--row-height))` }}
				onKeyDown={onKeyDown}
				onFocusIn={list.onFocusIn}
			>
				{list.seen.map(({ key, index }) => (
					<tr
						key={key}
						class="table-row"
						data-key={key}
						aria-rowindex={index + 2}
						aria-selected={isSelected(key)}
						tabIndex={key === active ? 0 : -1}
						style={{ transform: `translateY(calc(${index} * var(--row-height)))` }}
					>
						<Cell cellKey={key} isActive={key === active} content={children} />
					</tr>
				))}
			</tbody>
		</table>
	);
}

function Head<Id extends string>({ columns, sort, isDescending, onSort }: TableProps<Id>) {
	return (
		<thead class="table-head">
			<tr class="table-row" aria-rowindex={1}>
				<th scope="col">
					<span class="visually-hidden">Selected</span>
				</th>
				{columns.map(({ id, title }) => (
					<th
						scope="col"
						key={id}
						class={`of-${id}`}
						aria-sort={id === sort ? (isDescending ? "descending" : "ascending") : "none"}
					>
						<button type="button" class="quiet small" onClick={() => onSort(id)}>
							{title}
							<span aria-hidden="true">{id === sort && (isDescending ? " ▾" : " ▴")}</span>
						</button>
					</th>
				))}
				<th scope="col">
					<span class="visually-hidden">Actions</span>
				</th>
			</tr>
		</thead>
	);
}
