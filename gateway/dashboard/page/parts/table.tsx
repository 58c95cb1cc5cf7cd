/**
 * A table of which only what is seen is rendered, as an ARIA grid: the arrows move between rows, Enter opens one, Space
 * selects it, and letters begin a search. Only the row of the keyboard has tab stops, or Tab would take thousands of steps.
 */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { Cell, isWithModifier, windowOf } from "./grid.js";
import { useFocusAt, useFrame } from "./use-list.js";

export interface Column<Id extends string> {
	readonly id: Id;
	readonly title: string;
}

export interface TableProps<Id extends string> {
	readonly label: string;
	readonly columns: readonly Column<Id>[];
	readonly keys: readonly string[];
	readonly sort: Id;
	readonly isDescending: boolean;
	readonly onSort: (id: Id) => void;
	readonly isSelected: (key: string) => boolean;
	/** @param isRange with all between it and the one before */
	readonly onSelect: (key: string, isRange: boolean) => void;
	readonly onOpen: (key: string) => void;
	/** A letter was typed, which the element that now gets the focus receives. */
	readonly onType: () => void;
	/** The row that the keyboard begins at. */
	readonly initialKey: string | undefined;
	/** The cells of a row; what can have the focus in them has `tabIndex` 0 only in the active row. */
	readonly children: (key: string, isActive: boolean) => ComponentChildren;
}

export function Table<Id extends string>(props: TableProps<Id>) {
	const { label, columns, keys, isSelected, onSelect, onOpen, onType, children } = props;
	const body = useRef<HTMLTableSectionElement>(null);
	const { rowHeight, first, end } = useFrame(body);
	const [active, setActive] = useState(props.initialKey);
	const activeKey = active !== undefined && keys.includes(active) ? active : keys[0];
	const focusAt = useFocusAt((key) => rowElement(body.current, key));
	const move = (to: number) => {
		const key = keys[Math.max(0, Math.min(keys.length - 1, to))];
		if (key === undefined) return;
		setActive(key);
		focusAt(key);
	};
	const onKeyDown = (event: KeyboardEvent) => {
		const { key, target, shiftKey } = event;
		if (activeKey === undefined || isWithModifier(event)) return;
		const index = keys.indexOf(activeKey);
		const page = Math.max(1, Math.floor(innerHeight / rowHeight) - 4);
		const moves: Readonly<Record<string, number>> = {
			ArrowDown: index + 1,
			ArrowUp: index - 1,
			PageDown: index + page,
			PageUp: index - page,
			Home: 0,
			End: keys.length - 1,
		};
		const isOnRow = target instanceof Element && target.matches("tr");
		const to = moves[key];
		if (to !== undefined) move(to);
		else if (!isOnRow) return;
		else if (key === "Enter") onOpen(activeKey);
		else if (key === " ") onSelect(activeKey, shiftKey);
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
				ref={body}
				class="table-body"
				style={{ height: `calc(${keys.length} * var(--row-height))` }}
				onKeyDown={onKeyDown}
				onFocusIn={({ target }) => setActive((shown) => rowKey(target) ?? shown)}
			>
				{windowOf(keys, first, end, activeKey).map(({ key, index }) => (
					<tr
						key={key}
						class="table-row"
						data-key={key}
						aria-rowindex={index + 2}
						aria-selected={isSelected(key)}
						tabIndex={key === activeKey ? 0 : -1}
						style={{ transform: `translateY(calc(${index} * var(--row-height)))` }}
					>
						<Cell cellKey={key} flag={key === activeKey} content={children} />
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

function rowElement(body: HTMLElement | null, key: string): HTMLElement | null {
	return body?.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`) ?? null;
}

function rowKey(target: EventTarget | null): string | undefined {
	const row = target instanceof Element ? target.closest("[data-key]") : null;
	return row instanceof HTMLElement ? row.dataset.key : undefined;
}
