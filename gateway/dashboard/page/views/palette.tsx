/** Palette that finds devices, rooms, views and actions by their words, as the combobox pattern of WAI-ARIA. */

import { useId, useMemo, useRef, useState } from "preact/hooks";
import { messageOf } from "../../../../device/message-of.js";
import { useApp } from "../app/hooks.js";
import { Ask, Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { type Item, usePaletteItems } from "./palette-items.js";

export function Palette({ onClose }: { readonly onClose: () => void }) {
	const { toasts } = useApp();
	const input = useRef<HTMLInputElement>(null);
	const id = useId();
	const [query, setQuery] = useState("");
	const [index, setIndex] = useState(0);
	/** Item whose action is to be confirmed. */
	const [asked, setAsked] = useState<Item>();
	const find = usePaletteItems();
	const items = useMemo(() => find(query), [find, query]);
	const active = items[Math.min(index, items.length - 1)];
	const run = async ({ text, open }: Item) => {
		input.current?.closest("dialog")?.close();
		if (typeof open === "string") location.hash = open;
		else await open().catch((error: unknown) => toasts.show(text, messageOf(error)));
	};
	const activate = (item: Item) => (item.question ? setAsked(item) : void run(item));
	const onKeyDown = (event: KeyboardEvent) => {
		const at = active ? items.indexOf(active) : 0;
		if (event.key === "ArrowDown") setIndex((at + 1) % items.length);
		else if (event.key === "ArrowUp") setIndex((at - 1 + items.length) % items.length);
		else if (event.key === "Enter" && active) activate(active);
		else return;
		event.preventDefault();
	};
	return (
		<Dialog look="palette" label="Search" onClose={onClose}>
			<div>
				<input
					type="text"
					role="combobox"
					aria-label="Search devices, rooms, views and actions"
					aria-expanded={items.length > 0}
					aria-controls={`${id}-list`}
					aria-activedescendant={active && `${id}-${items.indexOf(active)}`}
					aria-autocomplete="list"
					placeholder="Search, or type mute, timer 6, update kitchen…"
					autocomplete="off"
					spellcheck={false}
					value={query}
					ref={input}
					onInput={({ currentTarget }) => {
						setQuery(currentTarget.value);
						setIndex(0);
					}}
					onKeyDown={onKeyDown}
				/>
				<div role="listbox" id={`${id}-list`} aria-label="Results">
					{items.map((item, at) => (
						// biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: The combobox has the focus.
						<div
							key={`${item.hint} ${item.text}`}
							role="option"
							id={`${id}-${at}`}
							aria-selected={item === active}
							onClick={() => activate(item)}
						>
							<Icon of={item.icon} />
							<span>{item.text}</span>
							<span class="hint">{item.hint}</span>
						</div>
					))}
				</div>
				<p class="hint" role="status">
					{active ? active.preview : "No matches."}
				</p>
			</div>
			{asked?.question && (
				<Ask
					question={asked.question}
					verb={asked.question.verb}
					onYes={() => run(asked)}
					onClose={() => setAsked(undefined)}
				/>
			)}
		</Dialog>
	);
}
