/** Button with a panel in the top layer, at the side of the button that has room (styles/parts.css). */

import type { ComponentChildren, ComponentProps } from "preact";
import { useId, useRef } from "preact/hooks";
import { Icon } from "./icon.js";

interface MenuProps {
	readonly label: string;
	/** Classes of the button. */
	readonly look?: string;
	readonly icon?: ComponentProps<typeof Icon>["of"];
	/** @param close closes the panel after an action */
	readonly children: (close: () => void) => ComponentChildren;
}

export function Menu({ label, look = "", icon, children }: MenuProps) {
	const panel = useRef<HTMLDivElement>(null);
	const id = useId();
	const close = () => panel.current?.hidePopover();
	return (
		<>
			<button type="button" class={`menu ${look}`} aria-label={icon && label} popovertarget={id}>
				{icon && <Icon of={icon} />}
				<span>{label}</span>
			</button>
			{/* biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/noStaticElementInteractions: The links in it are clicked. */}
			<div
				ref={panel}
				id={id}
				popover
				class="menu-items"
				onClick={({ target }) => target instanceof Element && target.closest("a") && close()}
				onToggle={({ currentTarget }) =>
					currentTarget.querySelector<HTMLInputElement>("[type=number]")?.select()
				}
			>
				{children(close)}
			</div>
		</>
	);
}
