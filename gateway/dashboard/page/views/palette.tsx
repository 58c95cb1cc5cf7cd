/** Palette that finds devices, rooms, views and actions by their words, as the combobox pattern of WAI-ARIA. */

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { messageOf } from "../../../api/client/request.js";
import { useApp } from "../app/hooks.js";
import { Icon } from "../parts/icon.js";
import { type Item, usePaletteItems } from "./palette-items.js";

export function Palette({ onClose }: { readonly onClose: () => void }) {
	const { toasts } = useApp();
	const dialog = useRef<HTMLDialogElement>(null);
	const id = useId();
	const [query, setQuery] = useState("");
	const [index, setIndex] = useState(0);
	/** Item whose action is to be confirmed. */
	const [asked, setAsked] = useState<Item>();
	const question = asked?.question;
	const find = usePaletteItems();
	const items = useMemo(() => find(query), [find, query]);
	const active = items[Math.min(index, items.length - 1)];
	useEffect(() => {
		const { current } = dialog;
		current?.showModal();
		// The backdrop belongs to the dialog.
		current?.addEventListener("pointerdown", ({ target }) => target === current && current.close());
	}, []);
	const run = async ({ text, open }: Item) => {
		dialog.current?.close();
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
		<dialog ref={dialog} class="palette" aria-label={question ? question.title : "Search"} onClose={onClose}>
			{asked && question ? (
				<form method="dialog" onSubmit={() => run(asked)}>
					<h2>{question.title}</h2>
					<div class="actions">
						<button type="button" onClick={() => setAsked(undefined)}>
							Cancel
						</button>
						<button type="submit" class="primary" ref={(button) => button?.focus()}>
							{question.verb}
						</button>
					</div>
				</form>
			) : (
				<>
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
						ref={(input) => input?.focus()}
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
				</>
			)}
		</dialog>
	);
}
