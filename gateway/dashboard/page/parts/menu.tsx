/** Button with a pop-up panel, which closes on Escape and on focus or click outside. */

import type { ComponentChildren, ComponentProps } from "preact";
import { useEffect, useRef } from "preact/hooks";
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
	const menu = useRef<HTMLDetailsElement>(null);
	const close = () => {
		if (menu.current) menu.current.open = false;
	};
	useEffect(() => {
		const onPress = ({ target }: Event) => {
			if (target instanceof Node && !menu.current?.contains(target)) close();
		};
		addEventListener("pointerdown", onPress);
		addEventListener("focusin", onPress);
		return () => {
			removeEventListener("pointerdown", onPress);
			removeEventListener("focusin", onPress);
		};
	}, []);
	return (
		<details
			ref={menu}
			class="menu"
			onToggle={({ currentTarget }) =>
				currentTarget.open && currentTarget.querySelector<HTMLInputElement>("input[type=number]")?.select()
			}
			onKeyDown={({ key }) => {
				if (key !== "Escape") return;
				close();
				menu.current?.querySelector("summary")?.focus();
			}}
		>
			<summary class={`button ${look}`} aria-label={icon && label}>
				{icon && <Icon of={icon} />}
				<span>{label}</span>
			</summary>
			<div class="menu-items">{children(close)}</div>
		</details>
	);
}
